#include "view/node_events.h"

#include "model/cluster.pb.h"

namespace minke::view {

std::optional<NodeEvent> present_event(const model::NodeRecord& node) {
  if (node.reason_time() == 0) return std::nullopt;
  const char* const state = node.state() == model::NODE_DRAIN  ? "DRAIN"
                            : node.state() == model::NODE_FAIL ? "FAIL"
                                                               : "DOWN";
  return NodeEvent{node.name(), state, node.reason(), node.reason_time(), node.reason_uid()};
}

}  // namespace minke::view
