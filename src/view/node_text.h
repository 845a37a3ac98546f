// The state of a node as text: operators determine the stored state; the shown one also
// depends on use. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minke::model {
class NodeRecord;
}  // namespace minke::model

namespace minke::view {

enum class NodeBaseState {
  kDown = 1,
  kIdle = 2,
  kAllocated = 3,
  kMixed = 5
};  // in the order sinfo sorts them

struct ShownNodeState {
  NodeBaseState base = NodeBaseState::kIdle;
  bool drain = false;
  bool fail = false;
  bool maintenance = false;
  bool reserved = false;  // and idle
  bool future = false;
};

// The state in `scontrol show node`: a draining node may be MIXED+DRAIN.
ShownNodeState shown_state(const model::NodeRecord& node);
// The state in sinfo: a draining node is idle or allocated, nothing between.
ShownNodeState sinfo_state(const model::NodeRecord& node);

std::string_view state_short(ShownNodeState state);  // idle, mix, alloc, down, drain, drng
std::string_view state_long(ShownNodeState state);   // idle, mixed, allocated, down, drained, draining
std::string state_complete(ShownNodeState state);    // allocated+drain
int state_order(ShownNodeState state);               // the sort key of `sinfo -S t`

// The output of `hostname` in the node's jobs: a declared node's own name, else the machine's.
const std::string& host_name_of(const model::NodeRecord& node);

// Appends gpu:a100:1(IDX:N/A) for each kind that the node offers; gpu:0 if it offers none.
void append_gres_used(std::string& out, const model::NodeRecord& node);

}  // namespace minke::view
