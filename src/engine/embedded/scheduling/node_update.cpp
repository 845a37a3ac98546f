// scontrol update node: possible changes of states and of other fields. Pure.
#include <algorithm>

#include "api/field.pb.h"
#include "engine/embedded/scheduling/nodes.h"
#include "model/error.h"
#include "text/number.h"
#include "text/word.h"

namespace minke::engine {

using namespace model;

namespace {

// The node's next state from `from` by State=`word`; an error if Slurm has none.
Result<NodeState> next_state(NodeState from, const std::string& word, bool busy) {
  const auto refused =
      failure("State=" + word + " is not possible for a node in this state", kInvalidNodeState);
  if (text::is(word, "DOWN"))
    return from == NODE_DRAIN || from == NODE_DOWN_DRAIN ? NODE_DOWN_DRAIN : NODE_DOWN;
  if (text::is(word, "DRAIN")) return is_down(from) ? NODE_DOWN_DRAIN : NODE_DRAIN;
  if (text::is(word, "FAIL")) return is_down(from) ? from : NODE_FAIL;
  if (text::is(word, "FUTURE")) {
    if (busy) return refused;
    return NODE_FUTURE;
  }
  if (text::is(word, "RESUME")) {
    if (from == NODE_IDLE) return refused;
    return NODE_IDLE;
  }
  if (text::is(word, "UNDRAIN"))
    return from == NODE_DOWN_DRAIN ? NODE_DOWN : from == NODE_DOWN ? from : NODE_IDLE;
  if (text::is(word, "IDLE"))
    return from == NODE_DOWN_DRAIN ? NODE_DRAIN : from == NODE_DOWN ? NODE_IDLE : from;
  if (text::is(word, "NoResp")) return from;  // Slurm would ask the node again, and it would answer
  // Nodes of one machine cannot be powered off and on.
  return refused;
}

void set_words(google::protobuf::RepeatedPtrField<std::string>* words, std::string_view list) {
  words->Clear();
  for (const std::string_view word : text::split(list, ',')) {
    if (!word.empty()) *words->Add() = word;
  }
}

}  // namespace

bool is_available(NodeState state) {
  return state == NODE_IDLE;
}

Status apply_node_field(NodeRecord& node, const api::Field& field, bool busy) {
  const std::string& name = field.name();
  const std::string& value = field.value();
  if (text::is(name, "State")) {
    const auto state = next_state(node.state(), value, busy);
    if (!state) return failure(state.error());
    node.set_state(*state);
  } else if (text::is(name, "Reason")) {
    node.set_reason(value);
  } else if (text::is(name, "Comment")) {
    node.set_comment(value);
  } else if (text::is(name, "Extra")) {
    node.set_extra(value);
  } else if (text::is(name, "Weight")) {
    const auto weight = text::parse_unsigned(value, 0xfffffffe);
    if (!weight) return failure("Weight=" + value + " is no number", kInvalidNodeState);
    node.set_weight(static_cast<uint32_t>(*weight));
  } else if (text::is(name, "Features") || text::is(name, "AvailableFeatures")) {
    set_words(node.mutable_features(), value);
    *node.mutable_active_features() = node.features();
  } else if (text::is(name, "ActiveFeatures")) {
    set_words(node.mutable_active_features(), value);
    for (const std::string& feature : node.active_features()) {
      if (std::find(node.features().begin(), node.features().end(), feature) == node.features().end())
        return failure("node " + node.name() + " has no feature " + feature, kActiveFeatureNotSubset);
    }
  } else {
    return failure("a node's " + name + " is what the machine offers: minke.toml says it",
                   text::is(name, "Gres") ? kInvalidGres : kNotSupported);
  }
  return {};
}

}  // namespace minke::engine
