#include "view/node_events.h"

#include "model/cluster.pb.h"

namespace minke::view {

std::optional<NodeEvent> present_event(const model::NodeRecord& node) {
  if (node.reason_time() == 0) return std::nullopt;
  const char* const state = node.state() == model::NODE_DRAIN  ? "DRAIN"
                            : node.state() == model::NODE_FAIL ? "FAIL"
                                                               : "DOWN";
  return NodeEvent{.node = node.name(),
                   .state = state,
                   .reason = node.reason(),
                   .since = node.reason_time(),
                   .uid = node.reason_uid()};
}

}  // namespace minke::view
