// Growth: which nodes had resources become free, and when. A class that did not fit is tried again
// only where something has changed.
//
// A counter goes up at each change. Every node has the count of its last change, and a list has the nodes in
// that order, the latest first. O(1) for each change. Internal to Machine; copied with it.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/ids.h"

namespace minke::sched {

class Growth {
 public:
  explicit Growth(std::size_t nodes) : links_(nodes + 1) {
    for (NodeId node = 0; node <= nodes; ++node) {
      links_[node].older = node == nodes ? 0 : node + 1;
      links_[node].newer = node == 0 ? static_cast<NodeId>(nodes) : node - 1;
    }
  }

  void count() { ++now_; }  // a change begins; of_node() then names its nodes
  void of_node(NodeId node) {
    links_[node].at = now_;
    Link& link = links_[node];
    links_[link.newer].older = link.older;
    links_[link.older].newer = link.newer;
    link.newer = end();
    link.older = newest();
    links_[link.older].newer = node;
    links_[end()].older = node;
  }
  void of_all() { all_at_ = ++now_; }  // a change that does not belong to single nodes

  std::uint64_t now() const { return now_; }
  std::uint64_t all_at() const { return all_at_; }  // count of the last such change
  std::uint64_t at(NodeId node) const { return links_[node].at; }
  NodeId newest() const { return links_[end()].older; }
  NodeId older(NodeId node) const { return links_[node].older; }
  NodeId end() const { return static_cast<NodeId>(links_.size() - 1); }

 private:
  struct Link {
    std::uint64_t at = 0;
    NodeId older = 0;
    NodeId newer = 0;
  };
  std::vector<Link> links_;  // the last one closes the ring
  std::uint64_t now_ = 1;
  std::uint64_t all_at_ = 1;
};

}  // namespace minke::sched
