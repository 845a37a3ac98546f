// The GRES part of a request: --gres, --gpus-per-node, --gpus-per-task, --gpus and --ntasks-per-gpu, which
// bind one another and the numbers of nodes and tasks. Used by make_request() alone.
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
  std::optional<std::uint32_t> tasks;           // what the options imply where --ntasks is not given
  std::optional<std::uint32_t> tasks_per_node;  // likewise, for --ntasks-per-node
  std::optional<std::uint32_t> nodes;  // --gpus together with --gpus-per-node fixes the number of nodes
};

// Errors: 2072 "Invalid generic resource (gres) specification" for what no node has and for contradictions,
// 2036 for what is not supported.
Result<GresTerms> resolve_gres(const model::JobSpec& spec, const MachineLayout& layout);

}  // namespace minke::sched
