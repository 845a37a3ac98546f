// The private directory of links that gives this program Slurm's names. One thread; touches only the home's
// bin/.
#pragma once

#include <string>

#include "base/result.h"

namespace minke::cli {

inline constexpr const char* kLinkNames[] = {"minke",
                                             "sbatch",
                                             "srun",
                                             "salloc",
                                             "squeue",
                                             "sq",
                                             "sinfo",
                                             "scancel",
                                             "sacct",
                                             "scontrol",
                                             "seff",
                                             "sqsub",
                                             "sqjobs",
                                             "sqkill",
                                             "sqsuspend",
                                             "sqresume",
                                             "sqhosts",
                                             "sdiag",
                                             "sprio",
                                             "sshare",
                                             "sstat",
                                             "sreport",
                                             "sacctmgr",
                                             "sbcast",
                                             "sgather",
                                             "sattach",
                                             "strigger",
                                             "scrontab",
                                             "swait",
                                             "avail_wheels",
                                             "diskusage_report",
                                             "shownicerquota.pl",
                                             "lfs",
                                             "setrpaths.sh",
                                             "farm_init.run",
                                             "submit.run",
                                             "resubmit.run",
                                             "list.run",
                                             "query.run",
                                             "kill.run",
                                             "prune.run",
                                             "Status.run",
                                             "clean.run",
                                             "task.run",
                                             "autojob.run"};

// The commands that are not Slurm's own, and that work on a real Slurm, too.
inline constexpr const char* kBesideSlurm[] = {
    "minke",      "sq",           "seff",     "sqsub",        "sqjobs",           "sqkill",
    "sqhosts",    "sqsuspend",    "sqresume", "avail_wheels", "diskusage_report", "farm_init.run",
    "submit.run", "resubmit.run", "list.run", "query.run",    "kill.run",         "prune.run",
    "Status.run", "clean.run",    "task.run", "autojob.run"};

// Makes <home>/bin with a link for each command, pointing to the program that runs; corrects those
// that point elsewhere.
Status make_links(const std::string& home);

// Makes <home>/beside-slurm with a link for each command of kBesideSlurm that PATH lacks, and no others.
// Returns its path.
Result<std::string> make_links_beside_slurm(const std::string& home);

// Returns the path of a real Slurm's sbatch on PATH; empty if there is none.
std::string real_slurm_command(const std::string& home);

}  // namespace minke::cli
