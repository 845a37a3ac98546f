#include "sched/caps.h"

#include <algorithm>

namespace minke::sched {

namespace {

// Who has shards of a GPU beyond a reservation's start may keep it from being given as a whole, or from
// having room for other shards, and what is in its stead may be of another type: it counts as a whole GPU of
// each type.
template <typename Visit>
void each_count(const MachineLayout& layout, const NodeShare& share, Visit visit) {
  const auto pools = layout.pools_of(share.node);
  for (const GresShare& gres : share.gres) {
    const bool shards = layout.is_shard(layout.gres_kinds()[gres.kind].name);
    const int count =
        shards ? count_of(layout.gpus_of_shards(share.node, gres.devices)) : static_cast<int>(gres.count());
    for (std::size_t i = 0; i < pools.size(); ++i)
      if (pools[i].is_consumed && (shards ? layout.is_gpu(pools[i].name) : pools[i].kind == gres.kind))
        visit(i, count, shards);
  }
}

}  // namespace

void Caps::add(NodeId node, std::int64_t start, const NodeSupply& supply, const NodeRules& rules) {
  if (first_.empty()) first_.assign(layout_->nodes().size(), kNone);
  caps_.push_back({start, supply, rules, rules.group_cpus, first_[node]});
  first_[node] = caps_.size() - 1;
}

template <typename Visit>
void Caps::each(NodeId node, std::int64_t from, std::int64_t end, Visit visit) const {
  if (first_.empty()) return;
  for (std::size_t i = first_[node]; i != kNone; i = caps_[i].next) {
    if (caps_[i].start > from && caps_[i].start < end) visit(i);
  }
}

// Of the type of which most are left.
std::int32_t Caps::most_gpus(std::span<const GresPool> pools, const NodeSupply& left) const {
  std::int32_t most = 0;
  for (std::size_t i = 0; i < pools.size(); ++i)
    if (layout_->is_gpu(pools[i].name)) most = std::max(most, left.counts[i]);
  return most;
}

std::int64_t Caps::cpus_under(const Cap& cap, const NodeRules& rules, std::int64_t cpus) {
  if (cap.rules.repels(rules)) return 0;
  if (rules.cpu_group == 0 || rules.cpu_group != cap.rules.cpu_group) return cpus;
  return std::min(cpus, cap.group_left);
}

void Caps::limit(NodeId node, std::int64_t from, std::int64_t end, const NodeRules& rules,
                 NodeSupply& supply) const {
  const std::uint32_t pools = layout_->nodes()[node].pool_count;
  each(node, from, end, [&](std::size_t cap_index) {
    const Cap& cap = caps_[cap_index];
    supply.cpus = cpus_under(cap, rules, std::min(supply.cpus, cap.left.cpus));
    supply.memory_mib = std::min(supply.memory_mib, cap.left.memory_mib);
    for (std::uint32_t i = 0; i < pools; ++i)
      supply.counts[i] = std::min(supply.counts[i], cap.left.counts[i]);
    if (layout_->nodes()[node].shards_per_gpu == 0) return;
    const auto kinds = layout_->pools_of(node);
    const std::int32_t gpus = most_gpus(kinds, cap.left);
    for (std::uint32_t i = 0; i < pools; ++i)
      if (gpus <= 0 && layout_->is_shard(kinds[i].name)) supply.counts[i] = 0;
  });
}

std::int64_t Caps::cpus(NodeId node, std::int64_t from, std::int64_t end, std::int64_t free) const {
  each(node, from, end, [&](std::size_t cap_index) { free = std::min(free, caps_[cap_index].left.cpus); });
  return free;
}

bool Caps::allow(const Placement& placement, std::int64_t from, std::int64_t end) const {
  bool allowed = true;
  for (const NodeShare& share : placement.nodes) {
    each(share.node, from, end, [&](std::size_t cap_index) {
      const Cap& cap = caps_[cap_index];
      if (cpus_under(cap, share.rules, cap.left.cpus) < share.cpus) allowed = false;
      if (share.memory_mib > 0 && cap.left.memory_mib < static_cast<std::int64_t>(share.memory_mib))
        allowed = false;
      each_count(*layout_, share, [&](std::size_t pool, int count, bool shards) {
        const std::int32_t left =
            shards ? most_gpus(layout_->pools_of(share.node), cap.left) : cap.left.counts[pool];
        if (left < count) allowed = false;
      });
    });
  }
  return allowed;
}

void Caps::consume(const Placement& placement, std::int64_t from, std::int64_t end) {
  for (const NodeShare& share : placement.nodes) {
    each(share.node, from, end, [&](std::size_t cap_index) {
      NodeSupply& left = caps_[cap_index].left;
      left.cpus -= share.cpus;
      Cap& cap = caps_[cap_index];
      if (share.rules.cpu_group == cap.rules.cpu_group) cap.group_left -= share.cpus;
      left.memory_mib -= static_cast<std::int64_t>(share.memory_mib);
      each_count(*layout_, share, [&](std::size_t pool, int count, bool) { left.counts[pool] -= count; });
    });
  }
}

}  // namespace minke::sched
