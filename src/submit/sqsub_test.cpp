#include "submit/sqsub.h"

#include <gtest/gtest.h>

#include "submit/job_request.h"

namespace minke::submit {
namespace {

std::string translated(std::vector<std::string> arguments) {
  auto sqsub = translate_sqsub(arguments);
  if (!sqsub) return sqsub.error().message;
  std::string out;
  for (const std::string& argument : sqsub->arguments) out.append(out.empty() ? "" : " ").append(argument);
  return out;
}

TEST(Sqsub, Kinds) {
  EXPECT_EQ(
      translated({"-r", "1d", "-o", "x.log", "./prog", "-n", "3"}),
      "--time=1440 --output=x.log --job-name=prog --extra=sqsub-queue=serial --ntasks=1 --cpus-per-task=1 "
      "./prog -n 3");
  EXPECT_EQ(
      translated({"-r4h", "-o", "%J", "-q", "mpi", "-n", "8", "--mpp=2G", "-N2", "-j", "nm", "p"}),
      "--time=240 --output=%J --job-name=nm --extra=sqsub-queue=mpi --nodes=2 --ntasks=8 --mem-per-cpu=2G p");
  EXPECT_EQ(translated({"-r", "90", "-o", "o", "-e", "e", "-i", "i", "-q", "threaded", "-n", "4", "--mpp",
                        "1g", "p"}),
            "--time=90 --output=o --error=e --input=i --job-name=p --extra=sqsub-queue=threaded --ntasks=1 "
            "--cpus-per-task=4 --mem=1g p");
  EXPECT_EQ(translated({"-r1h30m", "-o", "o", "-q", "gpu", "-f", "threaded", "-n", "2", "--gpp=1", "p"}),
            "--time=90 --output=o --job-name=p --extra=sqsub-queue=gpu --ntasks=1 --cpus-per-task=2 "
            "--gres=gpu:1 p");
  EXPECT_EQ(translated({"-r1", "-o", "o", "-q", "gpu", "-f", "mpi", "-n", "2", "p"}),
            "--time=1 --output=o --job-name=p --extra=sqsub-queue=gpu --ntasks=2 --gpus-per-task=1 p");
  EXPECT_EQ(translated({"-r1", "-o", "o", "-q", "NRAP_878", "-f", "xeon", "-w", "3,4", "--", "p"}),
            "--time=1 --output=o --job-name=p --extra=sqsub-queue=NRAP_878 --dependency=afterany:3:4 "
            "--constraint=xeon --ntasks=1 --cpus-per-task=1 p");
}

TEST(Sqsub, Script) {
  const std::vector<std::string> mpi = {"-r1", "-o", "o", "-q", "mpi", "it's"};
  EXPECT_TRUE(
      translate_sqsub(mpi)->script.ends_with("\nexec mpirun -n \"$SLURM_NTASKS\" 'it'\\''s' \"$@\"\n"));
  const std::vector<std::string> plain = {"-r1", "-o", "o", "-q", "mpi", "--nompirun", "p"};
  EXPECT_TRUE(translate_sqsub(plain)->script.ends_with("\nexec 'p' \"$@\"\n"));
}

TEST(Sqsub, Mistakes) {
  EXPECT_EQ(translated({"-o", "x", "p"}), "a run time must be given: -r 4h");
  EXPECT_EQ(translated({"-r", "1", "p"}), "a log file must be given: -o FILE");
  EXPECT_EQ(translated({"-r", "1", "-o", "x"}), "no program given");
  EXPECT_EQ(translated({"-r", "1w", "-o", "x", "p"}), "not a run time: 1w");
  EXPECT_EQ(translated({"-r", "0", "-o", "x", "p"}), "not a run time: 0");
  EXPECT_EQ(translated({"-r", "1", "-o", "x", "-n", "0", "p"}), "not a number of processes: 0");
  EXPECT_EQ(translated({"-r", "1", "-o", "x", "-n", "2", "p"}), "a serial job has one processor: -n 1");
  EXPECT_EQ(translated({"-z"}), "unknown option -z");
  EXPECT_EQ(translated({"-r"}), "option -r needs a value");
}

TEST(Sqsub, Queue) {
  EXPECT_EQ(sqsub_queue("sqsub-queue=mpi"), "mpi");
  EXPECT_EQ(sqsub_queue("x"), "");
}

}  // namespace
}  // namespace minke::submit
