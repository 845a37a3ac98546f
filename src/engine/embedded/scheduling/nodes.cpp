#include "engine/embedded/scheduling/nodes.h"

#include <algorithm>
#include <utility>

#include "accounts/account_book.h"
#include "api/field.pb.h"
#include "api/updates.pb.h"
#include "config/changed_fields.h"
#include "config/partition_fields.h"
#include "engine/embedded/core.h"
#include "model/error.h"
#include "store/loaded_rows.h"
#include "store/tables.h"
#include "text/hostlist.h"
#include "text/number.h"

namespace minke::engine {

using namespace model;

namespace {

const std::string kLostGpu = "GPU ";  // the begin of the reason of a node with lost GPUs
constexpr uint32_t kNoBound = 0xffffffff;

std::string names_of_active(const NodeRecord& node) {
  std::string all;
  for (const std::string& feature : node.active_features()) all += feature + ",";
  return all;
}

// Whether the scheduler may keep its machine layout.
bool same_layout(const NodeRecord& a, const NodeRecord& b) {
  return a.weight() == b.weight() && names_of_active(a) == names_of_active(b);
}

// Takes what operators set on a node; what it offers is discovered at each start.
void take_settings(const NodeRecord& stored, NodeRecord& node) {
  node.set_state(stored.state());
  node.set_reason(stored.reason());
  node.set_reason_uid(stored.reason_uid());
  node.set_reason_time(stored.reason_time());
  node.set_comment(stored.comment());
  node.set_extra(stored.extra());
  if (stored.weight() != 0) node.set_weight(stored.weight());
  if (stored.features().empty() && stored.active_features().empty()) return;
  *node.mutable_features() = stored.features();
  *node.mutable_active_features() = stored.active_features();
}

}  // namespace

Nodes::Nodes(Core& core) : core_(core), nodes_(core.config.nodes), partitions_(core.config.partitions) {
  for (NodeRecord& node : nodes_) {
    node.set_daemon_start_time(core.now());
    *node.mutable_active_features() = node.features();
  }
}

std::vector<NodeRecord> Nodes::offered() const {
  std::vector<NodeRecord> offered = nodes_;
  for (NodeRecord& node : offered) *node.mutable_features() = node.active_features();
  return offered;
}

const NodeRecord* Nodes::find_node(const std::string& name) const {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const NodeRecord& node) { return node.name() == name; });
  return found == nodes_.end() ? nullptr : &*found;
}

int64_t Nodes::last_end(const std::string& node) const {
  const auto at = last_ends_.find(node);
  return at == last_ends_.end() ? 0 : at->second;
}

const PartitionRecord* Nodes::find_partition(const std::string& name) const {
  const auto found = std::find_if(partitions_.begin(), partitions_.end(),
                                  [&](const PartitionRecord& partition) { return partition.name() == name; });
  return found == partitions_.end() ? nullptr : &*found;
}

// As in Slurm there may be none after changes; jobs without a partition then get the first one.
const PartitionRecord& Nodes::default_partition() const {
  const auto found = std::find_if(partitions_.begin(), partitions_.end(),
                                  [](const PartitionRecord& partition) { return partition.is_default(); });
  return found == partitions_.end() ? partitions_.front() : *found;
}

const accounts::TresWeights* Nodes::billing_weights(const std::string& partition) const {
  const model::PartitionRecord* record = find_partition(partition);
  if (record == nullptr || record->billing_weights().empty()) return nullptr;
  for (const model::PartitionRecord& configured : core_.config.partitions) {
    if (configured.name() != partition || configured.billing_weights() != record->billing_weights()) continue;
    for (const auto& [name, weights] : core_.config.billing) {
      if (name == partition) return &weights;
    }
  }
  const auto known = changed_weights_.find(record->billing_weights());
  if (known != changed_weights_.end()) return &known->second;
  auto parsed = accounts::parse_tres_weights(record->billing_weights());
  if (!parsed) return nullptr;
  return &changed_weights_.emplace(record->billing_weights(), std::move(*parsed)).first->second;
}

void Nodes::set_lost_gpus(std::map<std::string, std::string> lost) {
  if (lost == lost_gpus_) return;
  lost_gpus_ = std::move(lost);
  for (NodeRecord& node : nodes_) {
    std::string reason;
    for (int i = 0; i < node.gpu_devices_size(); ++i) {
      const auto found = lost_gpus_.find(node.gpu_devices(i).uuid());
      if (found != lost_gpus_.end())
        reason += (reason.empty() ? kLostGpu : ", ") + std::to_string(i) + ": " + found->second;
    }
    // A reason that an operator wrote is kept.
    if (!node.reason().empty() && !node.reason().starts_with(kLostGpu)) continue;
    node.set_reason(reason);
    node.set_reason_uid(0);
    node.set_reason_time(reason.empty() ? 0 : core_.now());
  }
  core_.cluster_events.tell(&ClusterListener::layout_changed);
}

const PartitionRecord* Nodes::configured(const std::string& partition) const {
  const auto& all = core_.config.partitions;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name() == partition; });
  return found == all.end() ? nullptr : &*found;
}

bool Nodes::has_jobs(const std::string& partition) const {
  return std::any_of(core_.state.jobs().begin(), core_.state.jobs().end(), [&](const auto& item) {
    const auto& names = item.second->submission->partitions;
    return !item.second->ended() && std::find(names.begin(), names.end(), partition) != names.end();
  });
}

// Configured values are not stored, so that a change of the file takes effect.
void Nodes::keep(const NodeRecord& node) {
  NodeRecord stored = node;
  for (const NodeRecord& one : core_.config.nodes) {
    if (one.name() != node.name()) continue;
    if (one.weight() == node.weight()) stored.clear_weight();
    if (std::equal(one.features().begin(), one.features().end(), node.active_features().begin(),
                   node.active_features().end()) &&
        one.features_size() == node.features_size()) {
      stored.clear_features();
      stored.clear_active_features();
    }
  }
  core_.committer.row_changed(store::kNodes.row(stored));
}

void Nodes::keep(const PartitionRecord& partition) {
  PartitionRecord stored = partition;
  const PartitionRecord* from = configured(partition.name());
  stored.set_configured(from == nullptr ? "" : from->SerializeAsString());
  core_.committer.row_changed(store::kPartitions.row(stored));
}

void Nodes::reconfigure(const std::vector<PartitionRecord>& before) {
  std::erase_if(partitions_, [&](const PartitionRecord& partition) {
    return !partition.created() && configured(partition.name()) == nullptr && !has_jobs(partition.name());
  });
  for (const PartitionRecord& given : core_.config.partitions) {
    const PartitionRecord* present = find_partition(given.name());
    const auto old = std::find_if(before.begin(), before.end(),
                                  [&](const PartitionRecord& one) { return one.name() == given.name(); });
    PartitionRecord next = given;
    if (present != nullptr) {
      if (old != before.end()) next = config::with_changes(*old, given, *present);
      next.set_state(present->state());
    }
    replace(next);
    keep(next);
  }
  core_.cluster_events.tell(&ClusterListener::layout_changed);
}

void Nodes::restore(store::LoadedRows& rows) {
  for (const NodeRecord& stored : rows.read(store::kNodes))
    for (NodeRecord& node : nodes_)
      if (node.name() == stored.name()) take_settings(stored, node);
  for (PartitionRecord& stored : rows.read(store::kPartitions)) restore(std::move(stored));
  if (partitions_.empty()) partitions_ = core_.config.partitions;
  core_.cluster_events.tell(&ClusterListener::layout_changed);
}

void Nodes::restore(PartitionRecord stored) {
  const PartitionRecord* present = find_partition(stored.name());
  PartitionRecord before;
  if (present != nullptr && !before.ParseFromString(stored.configured())) {
    PartitionRecord next = *present;  // nobody knows what the file changed since: it counts
    next.set_state(stored.state());
    replace(next);
  } else if (present != nullptr || stored.created()) {
    stored.clear_configured();
    if (const PartitionRecord* now = configured(stored.name()); now != nullptr && !stored.created()) {
      const std::string state = stored.state();
      stored = config::with_changes(before, *now, stored);
      stored.set_state(state);
    }
    // Nodes may have gone from the configuration since.
    auto members = text::expand_hostlist(stored.nodes());
    if (members) std::erase_if(*members, [&](const std::string& node) { return find_node(node) == nullptr; });
    if (!members || members->empty()) return;
    stored.set_nodes(text::compress_hostlist_sorted(*members));
    replace(stored);
  }
}

void Nodes::replace(const PartitionRecord& changed) {
  if (changed.is_default()) {
    for (PartitionRecord& partition : partitions_) {
      if (partition.name() == changed.name() || !partition.is_default()) continue;
      partition.set_is_default(false);
      keep(partition);
    }
  }
  for (PartitionRecord& partition : partitions_) {
    if (partition.name() != changed.name()) continue;
    partition = changed;
    return;
  }
  partitions_.push_back(changed);
}

Result<std::vector<std::string>> Nodes::names_in(const std::string& list) const {
  auto names = text::expand_hostlist(list);
  if (!names) return failure(names.error().message, kInvalidNodeName);
  if (names->size() == 1 && text::equals_ignoring_case(names->front(), "ALL")) {
    names->clear();
    for (const NodeRecord& node : nodes_) names->push_back(node.name());
  }
  return std::move(*names);
}

// The node after the changes.
Result<NodeRecord> Nodes::changed_node(const NodeRecord& present, const api::UpdateNodeRequest& request,
                                       uint32_t uid) const {
  const bool busy = std::any_of(core_.state.jobs().begin(), core_.state.jobs().end(), [&](const auto& item) {
    return item.second->holds_nodes() && item.second->has_node(present.name());
  });
  NodeRecord node = present;
  bool reason_given = false;
  for (const api::Field& field : request.fields()) {
    if (const Status applied = apply_node_field(node, field, busy); !applied) return failure(applied.error());
    reason_given = reason_given || text::equals_ignoring_case(field.name(), "Reason");
  }
  const bool other_state = node.state() != present.state();
  const bool now_out = other_state && node.state() != NODE_IDLE && node.state() != NODE_FUTURE;
  if (now_out && !reason_given && node.reason().empty())
    return failure("a reason must be given to drain a node or set it down", kInvalidNodeState);
  if (reason_given) {
    node.set_reason_uid(uid);
    node.set_reason_time(core_.now());
  }
  if (node.reason().empty() || (node.state() == NODE_IDLE && other_state)) {
    node.clear_reason();
    node.clear_reason_uid();
    node.clear_reason_time();
  }
  return node;
}

void Nodes::take_over(const std::vector<NodeRecord>& changed, bool layout_changed) {
  for (const NodeRecord& next : changed) {
    for (NodeRecord& node : nodes_) {
      if (node.name() == next.name()) node = next;
    }
    keep(next);
    core_.cluster_events.tell(&ClusterListener::node_changed, next);
    core_.cluster_events.tell(&ClusterListener::node_availability_changed, next.name(),
                              is_available(next.state()));
  }
  if (layout_changed) core_.cluster_events.tell(&ClusterListener::layout_changed);
  for (const NodeRecord& node : changed) {
    if (is_down(node.state())) core_.cluster_events.tell(&ClusterListener::node_down, node.name());
  }
}

Status Nodes::update_node(const api::UpdateNodeRequest& request, uint32_t uid) {
  const auto names = names_in(request.node_list());
  if (!names) return failure(names.error());
  std::vector<NodeRecord> changed;
  bool layout_changed = false;
  Status told;  // of a node that cannot be changed so; the others are: resuming all where some are idle
  for (const std::string& name : *names) {
    const NodeRecord* present = find_node(name);
    if (present == nullptr) {
      told = failure("there is no node " + name, kInvalidNodeName);
      continue;
    }
    auto node = changed_node(*present, request, uid);
    if (!node) {
      told = names->size() == 1 ? failure(node.error())
                                : failure(name + ": " + node.error().message, node.error().code);
      continue;
    }
    layout_changed = layout_changed || !same_layout(*present, *node);
    changed.push_back(std::move(*node));
  }
  take_over(changed, layout_changed);
  return told;
}

Status Nodes::delete_partition(const std::string& name) {
  if (has_jobs(name)) return failure("there are jobs in it", kPartitionInUse);
  if (partitions_.size() == 1) return failure("there must be one partition", kPartitionInUse);
  std::erase_if(partitions_, [&](const auto& partition) { return partition.name() == name; });
  core_.committer.row_changed(store::kPartitions.no_row(name));
  core_.cluster_events.tell(&ClusterListener::layout_changed);
  return {};
}

Result<PartitionRecord> Nodes::new_partition(const std::string& name) const {
  if (name.empty() || name.find_first_of(", \t\n=") != std::string::npos)
    return failure("'" + name + "' cannot be a partition's name", kInvalidPartitionName);
  PartitionRecord partition = core_.config.partition_defaults;
  partition.set_name(name);
  partition.clear_nodes();
  if (partition.min_nodes() == 0) partition.set_min_nodes(1);  // as scontrol sends it
  partition.set_created(true);
  return partition;
}

Status Nodes::change_partition(const api::UpdatePartitionRequest& request,
                               const accounts::AccountBook& book) {
  const PartitionRecord* present = find_partition(request.name());
  if ((present == nullptr) != (request.change() == api::CREATE)) {
    return failure(present == nullptr ? "there is no partition " + request.name()
                                      : "there is a partition " + request.name() + " already",
                   kInvalidPartitionName);
  }
  if (request.change() == api::DELETE) return delete_partition(request.name());
  auto made = present != nullptr ? Result<PartitionRecord>(*present) : new_partition(request.name());
  if (!made) return failure(made.error());
  PartitionRecord& next = *made;
  for (const api::Field& field : request.fields()) {
    if (const Status applied = config::apply_partition_field(next, field, nodes_); !applied) return applied;
  }
  if (!next.qos().empty() && book.qos(next.qos()) == nullptr) return failure("", kInvalidQos);
  // Running jobs are counted by these rules too.
  const bool same_rules = present != nullptr && present->nodes() == next.nodes() &&
                          present->max_cpus_per_node() == next.max_cpus_per_node() &&
                          present->max_cpus_per_socket() == next.max_cpus_per_socket() &&
                          present->exclusive_user() == next.exclusive_user() && present->qos() == next.qos();
  replace(next);
  keep(next);
  core_.cluster_events.tell(&ClusterListener::partition_changed, next, !same_rules);
  return {};
}

}  // namespace minke::engine
