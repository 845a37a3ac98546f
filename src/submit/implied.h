// What the amounts that were asked for say about each other: tasks and nodes from GPUs, nodes from a list of
// hosts, threads from --hint; and what contradicts itself.
//
// Pure; may be called from any thread.
#pragma once

#include "base/result.h"
#include "model/job.pb.h"

namespace minke::submit {

// For a job; a step takes what is left to it. Fills in the amounts that follow from others. An Error's
// message is what stands behind "sbatch: error: " (it may be several lines), its code the exit status.
Status imply_amounts(model::JobSpec& spec);

}  // namespace minke::submit
