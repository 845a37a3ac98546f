#include "cli/display/node_text.h"

#include <fmt/format.h>

#include <iterator>

namespace minke::cli {

ShownNodeState shown_state(const model::NodeRecord& node) {
  ShownNodeState state;
  state.drain = node.state() == model::NODE_DRAIN;
  if (node.state() == model::NODE_DOWN) {
    state.base = NodeBaseState::kDown;
  } else if (node.allocated_cpus() == 0 && node.running_jobs() == 0) {
    state.base = NodeBaseState::kIdle;
  } else {
    state.base = node.allocated_cpus() >= node.cpus() ? NodeBaseState::kAllocated : NodeBaseState::kMixed;
  }
  return state;
}

ShownNodeState sinfo_state(const model::NodeRecord& node) {
  ShownNodeState state = shown_state(node);
  if (state.drain && state.base == NodeBaseState::kMixed) state.base = NodeBaseState::kAllocated;
  return state;
}

std::string_view state_short(ShownNodeState state) {
  if (state.drain)
    return state.base == NodeBaseState::kAllocated || state.base == NodeBaseState::kMixed ? "drng" : "drain";
  switch (state.base) {
    case NodeBaseState::kDown:
      return "down";
    case NodeBaseState::kIdle:
      return "idle";
    case NodeBaseState::kAllocated:
      return "alloc";
    case NodeBaseState::kMixed:
      return "mix";
  }
  return "unk";
}

std::string_view state_long(ShownNodeState state) {
  if (state.drain)
    return state.base == NodeBaseState::kAllocated || state.base == NodeBaseState::kMixed ? "draining"
                                                                                          : "drained";
  switch (state.base) {
    case NodeBaseState::kDown:
      return "down";
    case NodeBaseState::kIdle:
      return "idle";
    case NodeBaseState::kAllocated:
      return "allocated";
    case NodeBaseState::kMixed:
      return "mixed";
  }
  return "unknown";
}

std::string state_complete(ShownNodeState state) {
  bool drain = state.drain;
  state.drain = false;
  return std::string(state_long(state)) + (drain ? "+drain" : "");
}

int state_order(ShownNodeState state) {
  return static_cast<int>(state.base) + (state.drain ? 0x200 : 0);
}

void append_gres_used(std::string& out, const model::NodeRecord& node) {
  if (node.gres().empty()) {
    out += "gpu:0";
    return;
  }
  const char* separator = "";
  for (const model::Gres& offered : node.gres()) {
    uint32_t used = 0;
    for (const model::Gres& allocated : node.allocated_gres())
      if (allocated.name() == offered.name() && allocated.type() == offered.type()) used += allocated.count();
    fmt::format_to(std::back_inserter(out), "{}{}{}{}:{}(IDX:N/A)", separator, offered.name(),
                   offered.type().empty() ? "" : ":", offered.type(), used);
    separator = ",";
  }
}

}  // namespace minke::cli
