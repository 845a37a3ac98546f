// GrownBounds: the most that one node can give, among the nodes that have grown since a given
// time (sched/growth.h). A pass uses it for quick refusals: a class that did not fit then, and
// needs more per node than this, does not fit now. Nothing becomes free during a pass, so bounds
// found at its begin hold until its end. Each node is looked at once, and only when needed.
// Internal to sched; owned by one pass.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "sched/class_tree.h"
#include "sched/growth.h"

namespace minke::sched {

// CPUs of a node by its number of devices: cpus[i] for at least i devices; the last one stands for more.
struct NodeBound {
  static constexpr std::uint32_t kLevels = 5;
  std::uint64_t at;  // covers nodes that grew at this time or later
  std::array<std::int64_t, kLevels> cpus;
  std::int64_t gres;

  static constexpr NodeBound of(std::int64_t value) {
    NodeBound bound{};
    bound.cpus.fill(value);
    bound.gres = value;
    return bound;
  }
  void raise(std::int64_t node_cpus, std::int64_t node_gres) {
    for (std::uint32_t level = 0; level < kLevels && level <= node_gres; ++level)
      cpus[level] = std::max(cpus[level], node_cpus);
    gres = std::max(gres, node_gres);
  }
  bool suffices(const LeastDemand& demand) const {
    return demand.node_gres <= gres && demand.node_cpus <= cpus[std::min(demand.node_gres, kLevels - 1)];
  }
};

class GrownBounds {
 public:
  void forget() { count_ = 0; }

  // Returns kNoBound if too many nodes grew. give(node) returns a node's CPUs and devices of all names.
  template <typename Give>
  const NodeBound& since(std::uint64_t growth, const Growth& grown, Give give) {
    if (grown.all_at() > growth) return kNoBound;
    if (count_ == 0) next_ = grown.newest();
    while (next_ != grown.end() && grown.at(next_) > growth) {
      if (count_ == kMany) return kNoBound;
      NodeBound& most = most_[count_];
      most = count_ == 0 ? kNothing : most_[count_ - 1];
      most.at = grown.at(next_);
      const auto [cpus, devices] = give(next_);
      most.raise(cpus, devices);
      ++count_;
      next_ = grown.older(next_);
    }
    // Finds the last node that has grown since. It is usually one of the first in the list.
    std::size_t first = 0;
    while (first < count_ && first < 4 && most_[first].at > growth) ++first;
    if (first == 4) {
      const auto end = most_.begin() + static_cast<std::ptrdiff_t>(count_);
      const auto found = std::partition_point(most_.begin() + 4, end,
                                              [&](const NodeBound& bound) { return bound.at > growth; });
      first = static_cast<std::size_t>(found - most_.begin());
    }
    return first == 0 ? kNothing : most_[first - 1];
  }

 private:
  static constexpr NodeBound kNoBound = NodeBound::of(std::numeric_limits<std::int64_t>::max());
  static constexpr NodeBound kNothing = NodeBound::of(-1);
  static constexpr std::size_t kMany = 64;
  NodeId next_ = 0;
  std::size_t count_ = 0;
  std::array<NodeBound, kMany> most_;  // the latest first; each includes all before it
};

}  // namespace minke::sched
