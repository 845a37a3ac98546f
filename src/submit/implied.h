// What the amounts that were asked for say about each other: tasks and nodes from GPUs, nodes from a list of
// hosts, threads from --hint; and what contradicts itself.
//
// Pure; may be called from any thread.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::submit {

// What makes tasks of sockets, cores and threads.
struct Geometry {
  bool at_once = false;    // all of them came in one option, -B, which needs no number of nodes
  bool needs_all = false;  // srun: some of the three alone say nothing of tasks
};

// For a job; a step takes what is left to it. Fills in the amounts that follow from others. An Error's
// message is what stands behind "sbatch: error: " (it may be several lines), its code the exit status.
Status imply_amounts(model::JobSpec& spec, Geometry geometry = {});

// srun ignores --ntasks-per-node where the tasks do not come to that many a node. What it says then; nothing
// where the numbers agree.
std::optional<std::string> unlike_tasks_per_node(uint32_t each, uint32_t tasks, uint32_t nodes);

}  // namespace minke::submit
