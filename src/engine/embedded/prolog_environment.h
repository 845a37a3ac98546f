// What prologs and epilogs find in their environment, and all of it: nothing of the daemon's own, nothing
// that a user has named. Values may be a user's (a job's name or comment): they are data. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/embedded/job_environment.h"
#include "model/job.pb.h"

namespace minke::engine {

// SLURM_SCRIPT_CONTEXT.
inline constexpr char kPrologSlurmctld[] = "prolog_slurmctld", kProlog[] = "prolog_slurmd",
                      kEpilog[] = "epilog_slurmd", kEpilogSlurmctld[] = "epilog_slurmctld";

// NAME=VALUE each. `record` has its spec, and in epilogs how the job ended. `node`: where it runs; of the
// Slurmctld forms empty. `gpus`: how those that the job has there are named to programs.
std::vector<std::string> prolog_environment(const model::JobRecord& record, const JobSurroundings& around,
                                            const std::string& context, const std::string& node,
                                            const GpuVariables& gpus);

}  // namespace minke::engine
