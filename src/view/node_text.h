// How a node's state reads: what is stored says what operators made of it, and what is shown follows from use
// beside that. Pure.
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

// As `scontrol show node` has it: a node that drains may be MIXED+DRAIN.
ShownNodeState shown_state(const model::NodeRecord& node);
// As sinfo has it: a node that drains is idle or allocated, nothing between.
ShownNodeState sinfo_state(const model::NodeRecord& node);

std::string_view state_short(ShownNodeState state);  // idle, mix, alloc, down, drain, drng
std::string_view state_long(ShownNodeState state);   // idle, mixed, allocated, down, drained, draining
std::string state_complete(ShownNodeState state);    // allocated+drain
int state_order(ShownNodeState state);               // what `sinfo -S t` sorts by

// What `hostname` says in the node's jobs: a declared node's own name, else the machine's.
const std::string& host_name_of(const model::NodeRecord& node);

// gpu:a100:1(IDX:N/A) for each kind the node offers; gpu:0 where it offers none.
void append_gres_used(std::string& out, const model::NodeRecord& node);

}  // namespace minke::view
