#include "sched/caps.h"

#include <algorithm>
#include <bit>

namespace minke::sched {

void Caps::add(NodeId node, std::int64_t start, const NodeSupply& supply) {
  if (first_.empty()) first_.assign(layout_->nodes().size(), kNone);
  caps_.push_back({start, supply, first_[node]});
  first_[node] = caps_.size() - 1;
}

template <typename Visit>
void Caps::each(NodeId node, std::int64_t from, std::int64_t end, Visit visit) const {
  if (first_.empty()) return;
  for (std::size_t i = first_[node]; i != kNone; i = caps_[i].next) {
    if (caps_[i].start > from && caps_[i].start < end) visit(i);
  }
}

void Caps::limit(NodeId node, std::int64_t from, std::int64_t end, NodeSupply& supply) const {
  const std::uint32_t pools = layout_->nodes()[node].pool_count;
  each(node, from, end, [&](std::size_t cap_index) {
    const Cap& cap = caps_[cap_index];
    supply.cpus = std::min(supply.cpus, cap.left.cpus);
    supply.memory_mib = std::min(supply.memory_mib, cap.left.memory_mib);
    for (std::uint32_t i = 0; i < pools; ++i)
      supply.counts[i] = std::min(supply.counts[i], cap.left.counts[i]);
  });
}

std::int64_t Caps::cpus(NodeId node, std::int64_t from, std::int64_t end, std::int64_t free) const {
  each(node, from, end, [&](std::size_t cap_index) { free = std::min(free, caps_[cap_index].left.cpus); });
  return free;
}

bool Caps::allow(const Placement& placement, std::int64_t from, std::int64_t end) const {
  bool allowed = true;
  for (const NodeShare& share : placement.nodes) {
    const auto pools = layout_->pools_of(share.node);
    each(share.node, from, end, [&](std::size_t cap_index) {
      const Cap& cap = caps_[cap_index];
      if (cap.left.cpus < share.cpus) allowed = false;
      if (share.memory_mib > 0 && cap.left.memory_mib < static_cast<std::int64_t>(share.memory_mib))
        allowed = false;
      for (const GresShare& gres : share.gres) {
        for (std::size_t i = 0; i < pools.size(); ++i) {
          if (pools[i].kind == gres.kind && cap.left.counts[i] < std::popcount(gres.devices)) allowed = false;
        }
      }
    });
  }
  return allowed;
}

void Caps::consume(const Placement& placement, std::int64_t from, std::int64_t end) {
  for (const NodeShare& share : placement.nodes) {
    const auto pools = layout_->pools_of(share.node);
    each(share.node, from, end, [&](std::size_t cap_index) {
      NodeSupply& left = caps_[cap_index].left;
      left.cpus -= share.cpus;
      left.memory_mib -= static_cast<std::int64_t>(share.memory_mib);
      for (const GresShare& gres : share.gres) {
        for (std::size_t i = 0; i < pools.size(); ++i) {
          if (pools[i].kind == gres.kind) left.counts[i] -= std::popcount(gres.devices);
        }
      }
    });
  }
}

}  // namespace minke::sched
