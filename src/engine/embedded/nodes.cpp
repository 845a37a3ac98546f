#include "engine/embedded/nodes.h"

#include <strings.h>
#include <algorithm>

#include "engine/embedded/core.h"
#include "engine/embedded/scheduling.h"
#include "model/error.h"
#include "text/duration.h"
#include "text/hostlist.h"

namespace minke::engine {

namespace {

bool is_name(const std::string& given, const char* name) {
  return strcasecmp(given.c_str(), name) == 0;
}

}  // namespace

Nodes::Nodes(Core& core) : core_(core), nodes_(core.config.nodes), partitions_(core.config.partitions) {
  for (auto& node : nodes_) node.set_daemon_start_time(core.now());
}

const model::PartitionRecord* Nodes::find_partition(const std::string& name) const {
  const auto found = std::find_if(partitions_.begin(), partitions_.end(),
                                  [&](const auto& partition) { return partition.name() == name; });
  return found == partitions_.end() ? nullptr : &*found;
}

const model::PartitionRecord& Nodes::default_partition() const {
  const auto found = std::find_if(partitions_.begin(), partitions_.end(),
                                  [](const auto& partition) { return partition.is_default(); });
  MINKE_CHECK(found != partitions_.end());
  return *found;
}

void Nodes::reconfigure(const std::vector<model::PartitionRecord>& partitions) {
  for (const model::PartitionRecord& given : partitions) {
    for (model::PartitionRecord& partition : partitions_) {
      if (partition.name() != given.name()) continue;
      const std::string state = partition.state();
      partition = given;
      partition.set_state(state);
    }
  }
}

void Nodes::restore(const std::vector<std::pair<std::string, std::string>>& settings) {
  for (const auto& [name, value] : settings) {
    if (name.rfind("node ", 0) == 0) {
      model::NodeRecord stored;
      if (!stored.ParseFromString(value)) continue;
      for (auto& node : nodes_) {
        // Only what an operator says of a node is kept: what it offers is found out at each start.
        if (node.name() != stored.name()) continue;
        node.set_state(stored.state());
        node.set_reason(stored.reason());
        node.set_reason_uid(stored.reason_uid());
        node.set_reason_time(stored.reason_time());
        core_.scheduling->set_node_available(node.name(), node.state() == model::NODE_IDLE);
      }
    } else if (name.rfind("partition ", 0) == 0) {
      for (auto& partition : partitions_) {
        if (partition.name() != name.substr(10)) continue;
        partition.set_state(value);
        core_.scheduling->set_partition_up(partition.name(), value == "UP");
      }
    }
  }
}

Status Nodes::update_node(const rpc::UpdateNodeRequest& request, uint32_t uid) {
  auto names = text::expand_hostlist(request.node_list());
  if (!names) return failure(names.error().message, model::kInvalidNodeName);
  std::vector<model::NodeRecord*> chosen;
  for (const std::string& name : *names) {
    const auto found =
        std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& node) { return node.name() == name; });
    if (found == nodes_.end()) return failure("there is no node " + name, model::kInvalidNodeName);
    chosen.push_back(&*found);
  }
  std::optional<model::NodeState> state;
  std::optional<std::string> reason;
  for (const rpc::Field& field : request.fields()) {
    if (is_name(field.name(), "State")) {
      if (is_name(field.value(), "RESUME") || is_name(field.value(), "IDLE") ||
          is_name(field.value(), "UNDRAIN")) {
        state = model::NODE_IDLE;
      } else if (is_name(field.value(), "DRAIN")) {
        state = model::NODE_DRAIN;
      } else if (is_name(field.value(), "DOWN")) {
        state = model::NODE_DOWN;
      } else {
        return failure("State=" + field.value() + ": RESUME, DRAIN or DOWN are possible here",
                       model::kInvalidNodeState);
      }
    } else if (is_name(field.name(), "Reason")) {
      reason = field.value();
    } else {
      return failure("a node's " + field.name() + " cannot be changed here; change the configuration instead",
                     model::kNotSupported);
    }
  }
  if (state && *state != model::NODE_IDLE && !reason) {
    return failure("a reason must be given to drain a node or set it down", model::kInvalidNodeState);
  }
  for (model::NodeRecord* node : chosen) {
    if (state) node->set_state(*state);
    if (reason) {
      node->set_reason(*reason);
      node->set_reason_uid(uid);
      node->set_reason_time(core_.now());
    }
    if (state == model::NODE_IDLE) {
      node->clear_reason();
      node->clear_reason_time();
    }
    core_.committer.setting_changed("node " + node->name(), node->SerializeAsString());
    if (state) core_.scheduling->set_node_available(node->name(), *state == model::NODE_IDLE);
  }
  return {};
}

Status Nodes::update_partition(const rpc::UpdatePartitionRequest& request) {
  const auto found = std::find_if(partitions_.begin(), partitions_.end(),
                                  [&](const auto& partition) { return partition.name() == request.name(); });
  if (found == partitions_.end()) {
    return failure("there is no partition " + request.name(), model::kInvalidPartitionName);
  }
  for (const rpc::Field& field : request.fields()) {
    if (!is_name(field.name(), "State")) {
      return failure(
          "a partition's " + field.name() + " cannot be changed here; change the configuration instead",
          model::kNotSupported);
    }
    std::string state = field.value();
    for (char& c : state) c = static_cast<char>(toupper(c));
    if (state != "UP" && state != "DOWN" && state != "DRAIN" && state != "INACTIVE") {
      return failure("State=" + field.value() + ": UP, DOWN, DRAIN or INACTIVE are possible",
                     model::kPartitionNotAvailable);
    }
    found->set_state(state);
    core_.committer.setting_changed("partition " + found->name(), state);
    core_.scheduling->set_partition_up(found->name(), state == "UP");
  }
  return {};
}

}  // namespace minke::engine
