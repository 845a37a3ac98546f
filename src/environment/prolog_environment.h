// The whole environment of prologs and epilogs: nothing of the daemon's own, and no names that a user chose.
// Values may be a user's (a job's name or comment): they are data, and so short that the kernel takes all of
// them together (execve(2) fails with E2BIG beyond 128 KiB for one). Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "environment/job_environment.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::environment {

// SLURM_SCRIPT_CONTEXT.
inline constexpr char kPrologSlurmctld[] = "prolog_slurmctld", kProlog[] = "prolog_slurmd",
                      kEpilog[] = "epilog_slurmd", kEpilogSlurmctld[] = "epilog_slurmctld";

// Longer texts of users are cut to this length. A longer path names no
// file, and is left out.
inline constexpr size_t kMostPrologText = 1024;
inline constexpr size_t kMostPrologPath = 4095;

// Returns NAME=VALUE each. `record` has its spec, and in epilogs how the job ended. `node` is where it runs;
// empty for the Slurmctld forms. `gpus`: how programs see the job's GPUs there.
std::vector<std::string> prolog_environment(const model::JobRecord& record, const JobSurroundings& around,
                                            const std::string& context, const std::string& node,
                                            const GpuVariables& gpus);

}  // namespace minke::environment
