// Turns srun's request into the step that it asks the daemon for: numbers of tasks and nodes, programs, and
// the variables that srun itself adds for the tasks. Reads the files that options name (--multi-prog,
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

// `environment` is that of the tasks, NAME=VALUE each ended by NUL. An error's message goes behind "srun:
// error: "; mere warnings go to stderr here. The caller sets the streams and the wrapper.
Result<api::StepSpec> make_step_spec(const submit::Invocation& invocation, const submit::JobRequest& request,
                                     const model::JobRecord& job, std::string environment);

}  // namespace minke::cli
