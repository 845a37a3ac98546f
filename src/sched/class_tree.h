// ClassTree: the classes of a queue in a tournament, so that a pass comes to the best ones first and passes
// over whole subtrees of those that cannot start.
//
// A node knows the best head below it and the least that any class below it demands. Invariant: every node is
// the summary of its two children. O(log classes) to change a class. Owned by its PendingQueue.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sched/ids.h"
#include "sched/request.h"

namespace minke::sched {

// What a request takes at the least, wherever it is placed. For quick refusals only.
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
  // The head of a class: the order is that of PendingQueue::before().
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
    // At least what holds below: what is said of a node counts for all below it, until open() hands it down.
    std::uint64_t blocked_at = ~std::uint64_t{0};
    std::uint64_t shut_at = ~std::uint64_t{0};  // of `epoch`; in a later one it is blocked_at
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

  // The Machine::growth() at which all below a node were seen not to fit on what is free (blocked), or under
  // a reservation (shut; blocked is shut too).
  void shut(std::uint32_t index, std::uint64_t growth, bool blocked);
  void forget_shut() { ++epoch_; }  // but what is blocked
  std::uint64_t blocked_at(std::uint32_t index) const { return nodes_[index].blocked_at; }
  std::uint64_t shut_at(std::uint32_t index) const {
    const Node& node = nodes_[index];
    return node.epoch == epoch_ ? std::max(node.shut_at, node.blocked_at) : node.blocked_at;
  }
  // The same of a class, whether the nodes above it have been opened or not.
  std::uint64_t blocked_at_of(std::uint32_t class_id) const;
  std::uint64_t shut_at_of(std::uint32_t class_id) const;
  // Before the children of a node are looked at.
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
  Node joined(std::uint32_t index) const;  // of its children

  std::uint32_t capacity_ = 0;  // of classes, a power of two; the leaves begin there
  std::vector<Node> nodes_;
  std::vector<Key> keys_;  // by class
  std::uint64_t epoch_ = 1;
};

}  // namespace minke::sched
