// PendingQueue: the jobs that could start if there were room. It has no held or dependent jobs and no arrays
// at their throttle: its owner inserts a job when it becomes eligible and removes it when it no longer is.
//
// Entries are grouped by class (equal Requests), because what blocks one entry of a class blocks all. So a
// pass over a million equal jobs looks at those that it starts and at one more. Order: priority (higher
// first), then `order` (lower first; the caller makes it unique), then id. Invariants: an entry's
// startable count is at least 1; a class exists while it has entries. Costs: insert, remove and update
// O(log n); about 70 bytes per entry. Owned by one thread. A queue belongs to one Machine, whose layout
// gives the ids in the Requests.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sched/class_tree.h"
#include "sched/ids.h"
#include "sched/machine.h"
#include "sched/request.h"
#include "sched/withheld.h"

namespace minke::sched {

struct PendingEntry {
  EntryId id = 0;
  std::uint64_t priority = 0;   // partition's PriorityTier in the upper 32 bits, the job's priority below
  std::uint64_t order = 0;      // of submission
  std::uint32_t startable = 1;  // tasks of an array that may start now; 1 for a job
};

class PendingQueue {
 public:
  using ClassId = std::uint32_t;

  // The id must not be in the queue, and `startable` must not be 0.
  void insert(const PendingEntry& entry, const Request& request);
  // These return false if the id is not in the queue.
  bool remove(EntryId id);
  bool set_priority(EntryId id, std::uint64_t priority);
  bool set_startable(EntryId id, std::uint32_t startable);  // 0 removes it

  std::optional<PendingEntry> find(EntryId id) const;
  const Request* request_of(EntryId id) const;  // valid until the next change; null if not there
  std::size_t size() const { return index_.size(); }
  std::size_t class_count() const { return live_classes_; }
  std::size_t entries_of_class(const Request& request) const;

  // ---- for the pass, the forecast and the reasons ----
  std::size_t class_slots() const { return classes_.size(); }  // ClassIds are below this; some may be dead
  bool class_alive(ClassId id) const { return id < classes_.size() && !classes_[id].heap.empty(); }
  const Request& request(ClassId id) const { return classes_[id].request; }
  PendingEntry head(ClassId id) const { return entry(classes_[id].heap.front()); }
  std::optional<ClassId> class_of(EntryId id) const;
  // Takes `count` tasks from the head of a class; at most the head's startable count.
  void take_from_head(ClassId id, std::uint32_t count = 1);
  // The Machine::growth() at which the class was last seen not to fit on free resources.
  std::uint64_t blocked_at(ClassId id) const { return tree_.blocked_at_of(id); }
  void set_blocked_at(ClassId id, std::uint64_t growth) { tree_.shut(tree_.leaf(id), growth, true); }
  // The same, or the growth at which it did not fit under the reservation of withheld().
  std::uint64_t shut_at(ClassId id) const { return tree_.shut_at_of(id); }
  Withheld& withheld() { return withheld_; }
  std::optional<Machine>& scratch() { return scratch_; }  // used by the planners of passes
  void withhold_nothing() {
    withheld_.known = false;
    tree_.forget_shut();
  }
  // The pass caches here whether the class could ever fit on the nodes that were available
  // at that Machine::availability().
  struct Possible {
    std::uint64_t availability = 0;  // 0: not known
    bool possible = false;
  };
  Possible& possible(ClassId id) { return classes_[id].possible; }
  ClassTree& tree() { return tree_; }

  static bool before(const PendingEntry& a, const PendingEntry& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.order != b.order) return a.order < b.order;
    return a.id < b.id;
  }

  // Walks all entries in order without changing the queue: O(classes) to begin, then O(log n) per step. The
  // queue must not change meanwhile.
  class Cursor {
   public:
    explicit Cursor(const PendingQueue& queue);
    struct Item {
      PendingEntry entry;
      ClassId class_id = 0;
    };
    std::optional<Item> next();

   private:
    struct Candidate {
      PendingEntry entry;
      ClassId class_id = 0;
      std::uint32_t position = 0;  // in the heap of its class
    };
    void push(ClassId class_id, std::uint32_t position);
    const PendingQueue& queue_;
    std::vector<Candidate> frontier_;
  };

 private:
  static constexpr std::uint32_t kNoSlot = 0xffffffff;
  struct Slot {
    EntryId id = 0;
    std::uint32_t startable = 0;
    std::uint32_t position = 0;  // in the heap of its class; the next free slot where unused
    ClassId class_id = 0;
  };
  // The key lies in the heap itself, and a node's four children are side by side, so walking a long
  // queue causes few cache misses.
  struct HeapItem {
    std::uint64_t priority = 0;
    std::uint64_t order = 0;
    std::uint32_t slot = 0;
  };
  static constexpr std::uint32_t kArity = 4;
  struct Class {
    Request request;
    std::vector<HeapItem> heap;  // best at the front
    Possible possible;
  };
  // id -> slot, open addressing: half the memory of a node-based map.
  class Index {
   public:
    std::size_t size() const { return size_; }
    std::optional<std::uint32_t> find(EntryId id, const std::vector<Slot>& slots) const;
    void insert(EntryId id, std::uint32_t slot, const std::vector<Slot>& slots);
    void erase(EntryId id, const std::vector<Slot>& slots);

   private:
    static constexpr std::uint32_t kEmpty = 0xffffffff;
    std::size_t probe(EntryId id, const std::vector<Slot>& slots) const;
    std::vector<std::uint32_t> cells_;  // a power of two, at most three quarters full
    std::size_t size_ = 0;
  };

  PendingEntry entry(const HeapItem& item) const {
    const Slot& slot = slots_[item.slot];
    return {slot.id, item.priority, item.order, slot.startable};
  }
  bool item_before(const HeapItem& a, const HeapItem& b) const {
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.order != b.order) return a.order < b.order;
    return slots_[a.slot].id < slots_[b.slot].id;
  }
  void put(Class& group, std::uint32_t position, const HeapItem& item) {
    group.heap[position] = item;
    slots_[item.slot].position = position;
  }
  void sift_up(Class& group, std::uint32_t position);
  void sift_down(Class& group, std::uint32_t position);
  void erase_slot(std::uint32_t slot);
  void head_changed(ClassId id);

  std::vector<Slot> slots_;
  static constexpr std::size_t kKeptSlots = 4096;
  std::uint32_t free_slot_ = kNoSlot;
  Index index_;
  std::vector<Class> classes_;
  ClassTree tree_;
  Withheld withheld_;
  std::optional<Machine> scratch_;
  std::vector<ClassId> free_classes_;
  std::size_t live_classes_ = 0;
  std::unordered_map<Request, ClassId, RequestHash> class_ids_;  // looked up only, never walked
};

}  // namespace minke::sched
