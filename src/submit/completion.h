// Completion of sbatch, salloc and srun for options/completion.h: which options of the table it offers, and
// which values they can have.
//
// Pure; may be called from any thread.
#pragma once

#include "options/option.h"
#include "submit/job_request.h"

namespace minke::submit {

// Omits options that are refused.
options::Command completed_command(Command command);

}  // namespace minke::submit
