// sbatch, salloc and srun as options/completion.h wants them: what is offered of the option table, and what
// the values can be.
//
// Pure; may be called from any thread.
#pragma once

#include "options/option.h"
#include "submit/job_request.h"

namespace minke::submit {

// Options that are refused are left out.
options::Command completed_command(Command command);

}  // namespace minke::submit
