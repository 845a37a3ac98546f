// Chooses the node of the job for each task of a step, and what the step holds on each node. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::api {
class StepSpec;
}  // namespace minke::api

namespace minke::engine {

// Units of a GRES other than GPUs: nobody needs to know which ones.
struct StepGres {
  std::string name, type;
  uint32_t count = 0;  // that the job has, or the step takes
  uint32_t used = 0;   // by steps that asked for some
};

struct StepNode {
  std::string name;
  uint32_t cpus = 0;       // that the job has
  uint32_t cpus_used = 0;  // by steps that do not share their CPUs
  uint32_t tasks = 0;      // for which the job was laid out
  uint64_t memory_mib = 0;
  uint64_t memory_used_mib = 0;
  std::vector<uint32_t> gpus;             // that the job has, by number
  std::vector<uint32_t> gpus_used;        // by steps that asked for GPUs
  uint32_t gpus_by_default = UINT32_MAX;  // how many of them a step without a GPU request sees
  std::vector<StepGres> gres = {};
};

struct StepLayout {
  std::vector<size_t> task_nodes;  // index into the nodes, by rank
  std::vector<uint32_t> tasks;     // by node; 0: the step does not use it
  std::vector<uint32_t> cpus;      // that the step takes, by node
  std::vector<uint64_t> memory_mib;
  std::vector<std::vector<uint32_t>> gpus;  // that the step sees, by node
  bool holds_gpus = false;                  // it asked for them: other steps that ask get other GPUs
  std::vector<std::vector<StepGres>> gres;  // that the step asked for, by node
  std::string note;                         // for srun's stderr; may be empty
};

// Tasks fill the nodes in order, or as --distribution says, as far as the node's CPUs and the step's GPUs
// allow. Errors: kNodesBusy if the step fits the job but not beside the other steps; others if it never fits.
Result<StepLayout> lay_out_step(const api::StepSpec& spec, const std::vector<StepNode>& nodes);

}  // namespace minke::engine
