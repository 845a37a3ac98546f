// From what srun was asked for to the step that it asks the daemon for: numbers of tasks and nodes, programs,
// and the variables that srun itself adds for the tasks. Reads the files that options name (--multi-prog,
// SLURM_HOSTFILE); one thread.
#pragma once

#include <string>

#include "base/result.h"
#include "submit/job_request.h"

namespace minke::api {
class StepSpec;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::cli {

// `environment`: of the tasks, NAME=VALUE each ended by NUL. Errors are for behind "srun: error: "; what is
// only to be said goes to stderr here. The streams and the wrapper are the caller's to set.
Result<api::StepSpec> make_step_spec(const submit::Invocation& invocation, const submit::JobRequest& request,
                                     const model::JobRecord& job, std::string environment);

}  // namespace minke::cli
