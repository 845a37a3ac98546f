// Detaches a process that was started from within a job from everything that the job imposes on it.
#pragma once

#include "base/result.h"

namespace minke::node {

// Takes over the control groups, processors, soft limits and priorities of the oldest process, and
// for root also its hard limits and namespaces. The process must have one thread. Errors: what of the
// job would remain, and what to do.
Status leave_job();

}  // namespace minke::node
