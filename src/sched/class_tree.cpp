#include "sched/class_tree.h"

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

ClassTree::Node ClassTree::joined(const Node& a, const Node& b) const {
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
  node.partitions = a.partitions | b.partitions;
  return node;
}

void ClassTree::grow(std::uint32_t classes) {
  std::uint32_t capacity = std::max(1u, capacity_);
  while (capacity < classes) capacity *= 2;
  std::vector<Node> nodes(std::size_t{2} * capacity);
  std::copy(nodes_.begin() + capacity_, nodes_.end(), nodes.begin() + capacity);
  nodes_ = std::move(nodes);
  capacity_ = capacity;
  keys_.resize(capacity_);
  for (std::uint32_t i = capacity_ - 1; i > 0; --i) nodes_[i] = joined(nodes_[i * 2], nodes_[i * 2 + 1]);
}

void ClassTree::update_above(std::uint32_t index) {
  while ((index /= 2) > 0) nodes_[index] = joined(nodes_[index * 2], nodes_[index * 2 + 1]);
}

void ClassTree::set(std::uint32_t class_id, const Key& key, const LeastDemand& demand, PartitionId partition,
                    std::uint64_t blocked_at) {
  if (class_id >= capacity_) grow(class_id + 1);
  keys_[class_id] = key;
  nodes_[capacity_ + class_id] = {class_id, demand, blocked_at, partition_bit(partition)};
  update_above(capacity_ + class_id);
}

void ClassTree::set_blocked_at(std::uint32_t class_id, std::uint64_t blocked_at) {
  std::uint32_t index = capacity_ + class_id;
  nodes_[index].blocked_at = blocked_at;
  while ((index /= 2) > 0) {
    const std::uint64_t least = std::min(nodes_[index * 2].blocked_at, nodes_[index * 2 + 1].blocked_at);
    if (nodes_[index].blocked_at == least) return;
    nodes_[index].blocked_at = least;
  }
}

void ClassTree::remove(std::uint32_t class_id) {
  nodes_[capacity_ + class_id] = {};
  update_above(capacity_ + class_id);
}

}  // namespace minke::sched
