// ClassTree: the classes of a queue in a tournament tree. A pass visits the best classes first and skips
// whole subtrees of classes that cannot start.
//
// A tree node keeps the best head below it and the smallest demand of any class below it. Invariant: each
// node summarizes its two children. Changing a class costs O(log classes). Owned by its PendingQueue.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sched/ids.h"
#include "sched/request.h"

namespace minke::sched {

// The least that a request takes wherever it is placed. Used for quick refusals only.
struct LeastDemand {
  std::uint32_t cpus = 1;
  std::uint32_t node_cpus = 0;  // on each of its nodes
  std::uint32_t gres = 0;       // devices of all names
  std::uint32_t node_gres = 0;
  std::uint32_t seconds = 0;  // its shortest time limit
};
LeastDemand least_demand(const Request& request);

class ClassTree {
 public:
  // The head of a class. The order is the same as in PendingQueue::before().
  struct Key {
    std::uint64_t priority = 0;
    std::uint64_t order = 0;
    EntryId id = 0;
    bool before(const Key& other) const {
      if (priority != other.priority) return priority > other.priority;
      return order != other.order ? order < other.order : id < other.id;
    }
  };
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Node {
    std::uint32_t best = kNone;  // class with the best head; kNone: no class below is alive
    LeastDemand demand{kNone, kNone, kNone, kNone, kNone};
    std::uint64_t partitions = 0;  // a bit for each; see partition_bit()
    // Lower bounds for everything below. A value that is set on a node holds below it; open() hands it down.
    std::uint64_t blocked_at = ~std::uint64_t{0};
    std::uint64_t shut_at = ~std::uint64_t{0};  // valid in `epoch`; in a later one blocked_at counts
    std::uint64_t epoch = 0;
  };

  // Partitions from the 63rd on share a bit.
  static constexpr PartitionId kSharedBit = 63;
  static std::uint64_t partition_bit(PartitionId partition) {
    return std::uint64_t{1} << std::min(partition, kSharedBit);
  }

  void add(std::uint32_t class_id, const Key& key, const LeastDemand& demand, PartitionId partition);
  void set_key(std::uint32_t class_id, const Key& key);
  void remove(std::uint32_t class_id);

  // Records the Machine::growth() at which no class below a node fitted: on free resources (blocked), or
  // under a reservation (shut). A blocked node is also shut.
  void shut(std::uint32_t index, std::uint64_t growth, bool blocked);
  void forget_shut() { ++epoch_; }  // keeps what is blocked
  std::uint64_t blocked_at(std::uint32_t index) const { return nodes_[index].blocked_at; }
  std::uint64_t shut_at(std::uint32_t index) const {
    const Node& node = nodes_[index];
    return node.epoch == epoch_ ? std::max(node.shut_at, node.blocked_at) : node.blocked_at;
  }
  // The same for a class; the nodes above it need not have been opened.
  std::uint64_t blocked_at_of(std::uint32_t class_id) const;
  std::uint64_t shut_at_of(std::uint32_t class_id) const;
  // Hands the node's marks down. Call it before looking at the node's children.
  void open(std::uint32_t index);

  // The root is 1; the children of n are 2n and 2n+1.
  bool empty() const { return nodes_.empty(); }
  const Node& node(std::uint32_t index) const { return nodes_[index]; }
  std::uint32_t leaf(std::uint32_t class_id) const { return capacity_ + class_id; }
  bool is_leaf(std::uint32_t index) const { return index >= capacity_; }
  const Key& key(std::uint32_t class_id) const { return keys_[class_id]; }

 private:
  void open_above(std::uint32_t index);
  void update_above(std::uint32_t index);
  void grow(std::uint32_t classes);
  Node joined(std::uint32_t index) const;  // the summary of its children

  std::uint32_t capacity_ = 0;  // of classes, a power of two; the leaves begin there
  std::vector<Node> nodes_;
  std::vector<Key> keys_;  // by class
  std::uint64_t epoch_ = 1;
};

}  // namespace minke::sched
