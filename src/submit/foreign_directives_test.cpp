#include "submit/foreign_directives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace minke::submit {
namespace {

// The options that sbatch 22.05 derives from such a line, according to its -vv.
std::string pbs(std::string line) {
  auto read = read_foreign_directives("#!/bin/sh\n#PBS " + line + "\nhostname\n");
  if (!read) return read.error().message;
  std::string out;
  for (const std::string& argument : read->arguments) out.append(out.empty() ? "" : " ").append(argument);
  return out;
}
std::string bsub(std::string line) {
  auto read = read_foreign_directives("#!/bin/sh\n#BSUB " + line + "\nhostname\n");
  if (!read) return read.error().message;
  std::string out;
  for (const std::string& argument : read->arguments) out.append(out.empty() ? "" : " ").append(argument);
  return out;
}

TEST(ForeignDirectives, PbsResources) {
  EXPECT_EQ(pbs("-l nodes=3"), "--nodes=3");
  EXPECT_EQ(pbs("-l nodes=2:ppn=4,walltime=01:30:00"), "--nodes=2 --time=01:30:00 --ntasks=8");
  EXPECT_EQ(pbs("-l nodes=n1+n2:ppn=2"), "--nodelist=n1,n2 --ntasks=2");
  EXPECT_EQ(pbs("-l nodes=1:ppn=2:gpus=1"), "--gpus-per-node=1 --nodes=1 --ntasks=2");
  EXPECT_EQ(pbs("-l select=2:ncpus=4:mpiprocs=4:mem=8gb"),
            "--nodes=2 --mincpus=4 --ntasks-per-node=4 --mem=8G");
  EXPECT_EQ(pbs("-l mem=2gb,file=1mb,ncpus=4,nice=5"), "--mem=2G --tmp=1M --mincpus=4 --nice=5");
  EXPECT_EQ(pbs("-l mem=200"), "--mem=200");
  EXPECT_EQ(pbs("-l cput=100"), "--time=100");
  EXPECT_EQ(pbs("-l naccelerators=2"), "--gres=gpu:2");
  EXPECT_EQ(pbs("-l accelerator=True"), "--gres=gpu:1");
  EXPECT_EQ(pbs("-l vmem=3gb,place=scatter,software=x,mppwidth=8"), "");
}

TEST(ForeignDirectives, PbsLetters) {
  EXPECT_EQ(pbs("-N b -q main -A acc"), "--job-name=b --partition=main --account=acc");
  EXPECT_EQ(pbs("-N \"a b\" # more"), "--job-name=a b");
  EXPECT_EQ(pbs("-J 1-3"), "--array=1-3");
  EXPECT_EQ(pbs("-t1-3"), "--array=1-3");
  EXPECT_EQ(pbs("-m abe -M a@b"), "--mail-type=BEGIN,END,FAIL --mail-user=a@b");
  EXPECT_EQ(pbs("-m n"), "--mail-type=NONE");
  EXPECT_EQ(pbs("-hV -j oe -S /bin/sh -k oe"), "--hold");
  EXPECT_EQ(pbs("-p -5 -r n"), "--nice=-5");
  EXPECT_EQ(pbs("-r y -v A=1,B"), "--export=A=1,B");
  EXPECT_EQ(pbs("-d /tmp -w /usr"), "--chdir=/tmp --chdir=/usr");
  EXPECT_EQ(pbs("-W depend=afterok:3"), "--dependency=afterok:3");
  EXPECT_EQ(read_foreign_directives("#PBS -W umask=022\n")->umask, "022");
  const std::string behind = "\nUnrecognized command line parameter ?";
  EXPECT_EQ(pbs("-P x"), "invalid option -- 'P'" + behind);
  EXPECT_EQ(pbs("--long"), "unrecognized option '--long'" + behind);
  EXPECT_EQ(pbs("-l"), "option requires an argument -- 'l'" + behind);
  EXPECT_EQ(pbs("-m x"), "--mail-type=");
  EXPECT_EQ(pbs(""), "");
}

TEST(ForeignDirectives, Bsub) {
  EXPECT_EQ(bsub("-J nm -n 4 -q main"), "--job-name=nm --ntasks=4 --partition=main");
  EXPECT_EQ(bsub("-n 4,8"), "--ntasks=8");
  EXPECT_EQ(bsub("-cwd /tmp -e e -o o"), "--chdir=/tmp --error=e --output=o");
  EXPECT_EQ(bsub("-M 2000 -W 90 -x -m n1"), "--mem-per-cpu=2 --time=90 --exclusive --nodelist=n1");
  EXPECT_EQ(bsub("-R \"span[hosts=1]\""), "invalid option -- 'R'\nUnrecognized command line parameter ?");
  EXPECT_EQ(bsub("-oo x"), "Invalid argument: x");
}

TEST(ForeignDirectives, WhereTheyStand) {
  auto read = read_foreign_directives("#!/bin/sh\n#BSUB -J b\necho\n#PBS -N c\n #PBS -N d\n##PBS -N e\n");
  EXPECT_EQ(read->arguments, (std::vector<std::string>{"--job-name=c", "--job-name=b"}));
}

}  // namespace
}  // namespace minke::submit
