// A process that was started from within a job, and is not to be of it, leaves what the job has put on it.
#pragma once

#include "base/result.h"

namespace minke::node {

// Control groups, processors, soft limits, priorities and, for root, hard limits and namespaces: those that
// the oldest process has. For a process with one thread. Errors: something of the job would stay, and what to
// do.
Status leave_job();

}  // namespace minke::node
