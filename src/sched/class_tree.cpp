#include "sched/class_tree.h"

#include <bit>

namespace minke::sched {

LeastDemand least_demand(const Request& request) {
  LeastDemand demand;
  const std::uint64_t nodes = std::max(1u, request.min_nodes);
  std::uint64_t tasks = nodes;
  if (!request.overcommit) {
    tasks = request.tasks > 0 ? std::max<std::uint64_t>(request.tasks, nodes)
                              : nodes * std::max(1u, request.tasks_per_node);
  }
  const std::uint64_t cpus = std::max(tasks * request.cpus_per_task, nodes * request.min_cpus_per_node);
  demand.cpus = static_cast<std::uint32_t>(std::min<std::uint64_t>(cpus, ClassTree::kNone - 1));
  std::uint64_t node_cpus = least_cpus_on_a_node(request);
  std::uint64_t node_gres = least_gres_on_a_node(request);
  for (const Request& companion : request.companions) {
    node_cpus = std::min(node_cpus, least_cpus_on_a_node(companion));
    node_gres = std::min(node_gres, least_gres_on_a_node(companion));
  }
  demand.node_gres = static_cast<std::uint32_t>(std::min<std::uint64_t>(node_gres, ClassTree::kNone - 1));
  demand.node_cpus = static_cast<std::uint32_t>(std::min<std::uint64_t>(node_cpus, ClassTree::kNone - 1));
  std::uint64_t gres = 0;
  for (const GresDemand& one : request.gres) {
    gres += std::max<std::uint64_t>(one.per_job, nodes * one.per_node);
    if (!request.overcommit) gres += tasks * one.per_task;
  }
  demand.gres = static_cast<std::uint32_t>(std::min<std::uint64_t>(gres, ClassTree::kNone - 1));
  const std::int64_t seconds =
      request.time_min_minutes > 0 ? limit_seconds(request.time_min_minutes) : request.planned_seconds();
  demand.seconds = static_cast<std::uint32_t>(std::min<std::int64_t>(seconds, ClassTree::kNone - 1));
  return demand;
}

ClassTree::Node ClassTree::joined(std::uint32_t index) const {
  const Node& a = nodes_[index * 2];
  const Node& b = nodes_[index * 2 + 1];
  Node node;
  if (a.best == kNone || b.best == kNone) {
    node.best = a.best == kNone ? b.best : a.best;
  } else {
    node.best = keys_[b.best].before(keys_[a.best]) ? b.best : a.best;
  }
  const LeastDemand& x = a.demand;
  const LeastDemand& y = b.demand;
  node.demand = {std::min(x.cpus, y.cpus), std::min(x.node_cpus, y.node_cpus), std::min(x.gres, y.gres),
                 std::min(x.node_gres, y.node_gres), std::min(x.seconds, y.seconds)};
  node.blocked_at = std::min(a.blocked_at, b.blocked_at);
  node.shut_at = std::min(shut_at(index * 2), shut_at(index * 2 + 1));
  node.epoch = epoch_;
  node.partitions = a.partitions | b.partitions;
  return node;
}

void ClassTree::grow(std::uint32_t classes) {
  for (std::uint32_t i = 1; i < capacity_; ++i) open(i);
  std::uint32_t capacity = std::max(1u, capacity_);
  while (capacity < classes) capacity *= 2;
  std::vector<Node> nodes(std::size_t{2} * capacity);
  std::copy(nodes_.begin() + capacity_, nodes_.end(), nodes.begin() + capacity);
  nodes_ = std::move(nodes);
  capacity_ = capacity;
  keys_.resize(capacity_);
  for (std::uint32_t i = capacity_ - 1; i > 0; --i) nodes_[i] = joined(i);
}

void ClassTree::update_above(std::uint32_t index) {
  while ((index /= 2) > 0) nodes_[index] = joined(index);
}

void ClassTree::open(std::uint32_t index) {
  const std::uint64_t blocked_at = nodes_[index].blocked_at;
  const std::uint64_t shut = shut_at(index);
  for (const std::uint32_t child : {index * 2, index * 2 + 1}) {
    Node& node = nodes_[child];
    node.shut_at = std::max(shut_at(child), shut);
    node.epoch = epoch_;
    node.blocked_at = std::max(node.blocked_at, blocked_at);
  }
}

void ClassTree::open_above(std::uint32_t index) {
  for (int level = std::bit_width(index) - 1; level > 0; --level) open(index >> level);
}

void ClassTree::add(std::uint32_t class_id, const Key& key, const LeastDemand& demand,
                    PartitionId partition) {
  if (class_id >= capacity_) grow(class_id + 1);
  open_above(leaf(class_id));
  keys_[class_id] = key;
  nodes_[leaf(class_id)] = {class_id, demand, partition_bit(partition), 0, 0, epoch_};
  update_above(leaf(class_id));
}

void ClassTree::set_key(std::uint32_t class_id, const Key& key) {
  keys_[class_id] = key;
  for (std::uint32_t index = leaf(class_id) / 2; index > 0; index /= 2) {
    const std::uint32_t a = nodes_[index * 2].best;
    const std::uint32_t b = nodes_[index * 2 + 1].best;
    if (a == kNone || b == kNone) {
      nodes_[index].best = a == kNone ? b : a;
    } else {
      nodes_[index].best = keys_[b].before(keys_[a]) ? b : a;
    }
  }
}

void ClassTree::shut(std::uint32_t index, std::uint64_t growth, bool blocked) {
  Node& changed = nodes_[index];
  changed.shut_at = std::max(shut_at(index), growth);
  changed.epoch = epoch_;
  if (blocked) changed.blocked_at = std::max(changed.blocked_at, growth);
  while ((index /= 2) > 0) {
    Node& node = nodes_[index];
    const std::uint64_t least_blocked =
        std::max(node.blocked_at, std::min(nodes_[index * 2].blocked_at, nodes_[index * 2 + 1].blocked_at));
    const std::uint64_t least_shut =
        std::max(shut_at(index), std::min(shut_at(index * 2), shut_at(index * 2 + 1)));
    if (node.blocked_at == least_blocked && shut_at(index) == least_shut) return;
    node.blocked_at = least_blocked;
    node.shut_at = least_shut;
    node.epoch = epoch_;
  }
}

std::uint64_t ClassTree::blocked_at_of(std::uint32_t class_id) const {
  std::uint64_t at = 0;
  for (std::uint32_t index = leaf(class_id); index > 0; index /= 2)
    at = std::max(at, nodes_[index].blocked_at);
  return at;
}

std::uint64_t ClassTree::shut_at_of(std::uint32_t class_id) const {
  std::uint64_t at = 0;
  for (std::uint32_t index = leaf(class_id); index > 0; index /= 2) at = std::max(at, shut_at(index));
  return at;
}

void ClassTree::remove(std::uint32_t class_id) {
  open_above(leaf(class_id));
  nodes_[leaf(class_id)] = {};
  update_above(leaf(class_id));
}

}  // namespace minke::sched
