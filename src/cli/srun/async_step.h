// srun --async: the step is left to a process of its own, which has no terminal, as soon as it has begun;
// srun says its number and ends. The process belongs to the job like every other: it ends with the job.
//
// One thread, before any other is started.
#pragma once

#include <functional>
#include <string>

#include "submit/job_request.h"

namespace minke::cli {

// Returns what contradicts --async or --parsable, a line each; empty if nothing does.
std::string async_refusal(const submit::JobRequest& request);

// Runs `step` in a process of its own, which writes the step's number to the descriptor that it is given.
// Says the number, and returns the exit status of srun: the process's own, if it ended without a step.
int run_async(submit::JobRequest& request, const std::function<int(int told)>& step);

// The process has no further use for srun's streams.
void leave_terminal();

}  // namespace minke::cli
