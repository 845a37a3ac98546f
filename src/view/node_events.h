// Nodes that are, or were, out of use: what sacctmgr's events tell. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace minke::model {
class NodeRecord;
}  // namespace minke::model

namespace minke::view {

struct NodeEvent {
  std::string node;
  std::string state;   // DOWN, DRAIN, FAIL
  std::string reason;  // as it was given
  int64_t since = 0;   // s since the epoch
  int64_t until = 0;   // 0: it lasts
  uint32_t uid = 0;    // who said so
};

// The event that a node is in; none: nobody has said why it should be.
std::optional<NodeEvent> present_event(const model::NodeRecord& node);

}  // namespace minke::view
