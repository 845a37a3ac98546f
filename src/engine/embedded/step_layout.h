// Which node of a job each task of a step goes to, and what the step holds there. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.pb.h"
#include "rpc/messages.pb.h"

namespace minke::engine {

struct StepNode {
  std::string name;
  uint32_t cpus = 0;       // of the job
  uint32_t cpus_used = 0;  // by steps that do not share theirs
  uint32_t tasks = 0;      // that the job was laid out for
};

struct StepLayout {
  std::vector<size_t> task_nodes;  // index into the nodes, by rank
  std::vector<uint32_t> cpus;      // that the step takes, by node; 0: not on it
  std::vector<uint32_t> tasks;     // by node
  std::string note;                // for srun's stderr; may be empty
};

// Tasks fill the nodes in order (block distribution), as many on each as its CPUs allow. Errors: kNodesBusy
// where it fits the job but not what other steps leave; kNodeConfigUnavailable and others where it never can.
Result<StepLayout> lay_out_step(const rpc::StepSpec& spec, const std::vector<StepNode>& nodes,
                                uint32_t default_cpus_per_task);

}  // namespace minke::engine
