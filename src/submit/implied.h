// Relations among the amounts of a request: tasks and nodes follow from GPUs, nodes from a list of hosts,
// threads from --hint; contradictions are errors.
//
// Pure; may be called from any thread.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/version.h"

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::submit {

// How sockets, cores and threads determine the number of tasks.
struct Geometry {
  bool at_once = false;    // one option, -B, gave all of them, which needs no number of nodes
  bool needs_all = false;  // srun: only all three together determine the tasks
  int release = kSlurm22;
  bool has_gpus_per_node = false, has_gres = false;  // which options were given
  bool is_exclusive = false, is_oversubscribed = false;
};

// For a job; a step takes what its job has. Fills in the amounts that follow from others. An error's message
// follows "sbatch: error: " (it may have several lines); its code is the exit status.
Status imply_amounts(model::JobSpec& spec, Geometry geometry = {});

// srun ignores --ntasks-per-node if the tasks do not come to that many on each node. Returns its warning
// then; nothing if the numbers agree.
std::optional<std::string> unlike_tasks_per_node(uint32_t each, uint32_t tasks, uint32_t nodes);

}  // namespace minke::submit
