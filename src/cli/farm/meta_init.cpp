// farm_init.run NAME: a directory with a sample farm, which runs as it is once an account's name is in it.
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "cli/farm/meta.h"
#include "cli/farm/meta_directory.h"
#include "os/files.h"
#include "view/output.h"

namespace minke::cli {
namespace {

constexpr int kSampleCases = 1300;

constexpr char kConfig[] = R"(# Settings of this farm.

# 1: jobs are whole nodes, and each runs NWHOLE cases at once. For serial programs.
WHOLE_NODE=0

# Cores of a node; counts only with WHOLE_NODE=1.
NWHOLE=192

# How many jobs may be submitted at once. With -auto or final.sh there is one more.
NJOBS_MAX=998

# The shortest and the longest run time of a job, seconds.
RUNTIME_MIN=30
RUNTIME_MAX=3000000

# A case that takes less than dt_failed seconds counts as failed here: a job ends
# where its first N_failed_max cases all do.
dt_failed=5
N_failed_max=5

export WHOLE_NODE NWHOLE NJOBS_MAX RUNTIME_MIN RUNTIME_MAX dt_failed N_failed_max
)";

constexpr char kJobScript[] = R"(#!/bin/bash
# The options of every job of this farm. -t (or --time) is needed.
#SBATCH -t 0-00:10
#SBATCH --mem=4G
#SBATCH -A Your_account_name

task.run
)";

constexpr char kResubmitScript[] = R"(#!/bin/bash
# The job behind the farm: for -auto, and for final.sh.
#SBATCH -A Your_account_name
#SBATCH -t 0-00:20
#SBATCH -N 1
#SBATCH -n 1

autojob.run
)";

constexpr char kSingleCase[] = R"(#!/bin/bash
# Runs one case. Called as: single_case.sh TABLE LINE
TABLE=$1
i=$2

LINE=$(sed -n "${i}p" "$TABLE")
# The case's number, and what stands behind it.
ID=$(echo "$LINE" | cut -d" " -f1)
COMM=$(echo "$LINE" | cut -d" " -f2-)

# ++++++++++++  This part can be customized:  ++++++++++++++++
#  $ID          the case's number
#  $COMM        its line of the table, without the number
#  $METAJOB_ID  the job that runs it
mkdir -p RUN$ID
cd RUN$ID

echo "Case $ID:"

eval "$COMM"

# Exit status of the case:
STATUS=$?

cd ..
# ++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++

echo "$ID $STATUS" >> STATUSES/status.$METAJOB_ID
)";

// As many seconds as differ from case to case, but always the same.
std::string sample_table() {
  std::string table;
  for (int i = 0; i < kSampleCases; ++i) table += "sleep " + std::to_string(5 + i * 37 % 16) + "\n";
  return table;
}

}  // namespace

int farm_init_main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-' || argv[1][0] == '\0')
    return farm_complain("Usage: farm_init.run NAME, where NAME is a directory that is made");
  const std::string name = argv[1];
  if (::mkdir(name.c_str(), 0755) != 0) {
    if (errno == EEXIST) return farm_complain(name + " exists already; exiting");
    return farm_complain(name + ": " + std::strerror(errno));
  }
  struct File {
    const char* name;
    std::string content;
    mode_t mode;
  };
  for (const File& file :
       {File{"config.h", kConfig, 0644}, File{"job_script.sh", kJobScript, 0755},
        File{"resubmit_script.sh", kResubmitScript, 0755}, File{"single_case.sh", kSingleCase, 0755},
        File{"table.dat", sample_table(), 0644}}) {
    const Status written = os::replace_file(name + "/" + file.name, file.content, file.mode);
    if (!written) return farm_complain(written.error().message);
  }
  view::write_out("Success!\n");
  return 0;
}

}  // namespace minke::cli
