// The GRES part of a request: --gres, --gpus-per-node, --gpus-per-task, --gpus and --ntasks-per-gpu. They
// constrain one another and the numbers of nodes and tasks. Used only by make_request(). Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "sched/layout.h"
#include "sched/request.h"

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::sched {

struct GresTerms {
  std::vector<GresDemand> demands;              // canonical, as in Request::gres
  std::optional<std::uint32_t> tasks;           // the number that the options imply if --ntasks is not given
  std::optional<std::uint32_t> tasks_per_node;  // likewise, for --ntasks-per-node
  std::optional<std::uint32_t> nodes;  // --gpus together with --gpus-per-node fixes the number of nodes
};

// Errors: 2072 "Invalid generic resource (gres) specification" for GRES that no node has and for
// contradictions; 2036 for unsupported combinations.
Result<GresTerms> resolve_gres(const model::JobSpec& spec, const MachineLayout& layout);

}  // namespace minke::sched
