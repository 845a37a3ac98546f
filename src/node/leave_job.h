// A process that was started from within a job, and is not to be of it, leaves what the job has put on it.
#pragma once

#include "base/result.h"

namespace minke::node {

// Control groups, processors, soft limits, priority and, for root, namespaces: those that the oldest process
// has. For a process with one thread. Errors: something of the job would stay, and what to do.
Status leave_job();

}  // namespace minke::node
