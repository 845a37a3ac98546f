// Which node of a job each task of a step goes to, and what the step holds there. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::api {
class StepSpec;
}  // namespace minke::api

namespace minke::engine {

struct StepNode {
  std::string name;
  uint32_t cpus = 0;       // of the job
  uint32_t cpus_used = 0;  // by steps that do not share theirs
  uint32_t tasks = 0;      // that the job was laid out for
  uint64_t memory_mib = 0;
  uint64_t memory_used_mib = 0;
  std::vector<uint32_t> gpus;             // of the job, by number
  std::vector<uint32_t> gpus_used;        // by steps that asked for GPUs
  uint32_t gpus_by_default = UINT32_MAX;  // how many of them a step sees that asks for none in particular
};

struct StepLayout {
  std::vector<size_t> task_nodes;  // index into the nodes, by rank
  std::vector<uint32_t> tasks;     // by node; 0: the step is not on it
  std::vector<uint32_t> cpus;      // that the step takes, by node
  std::vector<uint64_t> memory_mib;
  std::vector<std::vector<uint32_t>> gpus;  // that the step sees, by node
  bool holds_gpus = false;                  // it asked for them: other steps that ask get others
  std::string note;                         // for srun's stderr; may be empty
};

// Tasks fill the nodes in order, or as --distribution says, as many on each as its CPUs and the step's GPUs
// allow. Errors: kNodesBusy where it fits the job but not what other steps leave; others where it never can.
Result<StepLayout> lay_out_step(const api::StepSpec& spec, const std::vector<StepNode>& nodes);

}  // namespace minke::engine
