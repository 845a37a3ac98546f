#include "sched/pending_queue.h"

#include <algorithm>

namespace minke::sched {

// ---- id -> slot -----------------------------------------------------------------------------------

namespace {
std::size_t scatter(EntryId id) {  // ids are often consecutive; neighbours must not cluster
  std::uint64_t x = id + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return static_cast<std::size_t>(x ^ (x >> 31));
}
}  // namespace

std::size_t PendingQueue::Index::probe(EntryId id, const std::vector<Slot>& slots) const {
  std::size_t cell = scatter(id) & (cells_.size() - 1);
  while (cells_[cell] != kEmpty && slots[cells_[cell]].id != id) cell = (cell + 1) & (cells_.size() - 1);
  return cell;
}

std::optional<std::uint32_t> PendingQueue::Index::find(EntryId id, const std::vector<Slot>& slots) const {
  if (cells_.empty()) return std::nullopt;
  const std::uint32_t slot = cells_[probe(id, slots)];
  if (slot == kEmpty) return std::nullopt;
  return slot;
}

void PendingQueue::Index::insert(EntryId id, std::uint32_t slot, const std::vector<Slot>& slots) {
  if ((size_ + 1) * 4 > cells_.size() * 3) {
    std::vector<std::uint32_t> old(std::max<std::size_t>(16, cells_.size() * 2), kEmpty);
    old.swap(cells_);
    for (const std::uint32_t moved : old) {
      if (moved != kEmpty) cells_[probe(slots[moved].id, slots)] = moved;
    }
  }
  cells_[probe(id, slots)] = slot;
  ++size_;
}

void PendingQueue::Index::erase(EntryId id, const std::vector<Slot>& slots) {
  const std::size_t mask = cells_.size() - 1;
  std::size_t hole = probe(id, slots);
  cells_[hole] = kEmpty;
  --size_;
  // Close the gap: what would no longer be found from its home cell moves into it.
  for (std::size_t cell = (hole + 1) & mask; cells_[cell] != kEmpty; cell = (cell + 1) & mask) {
    const std::size_t home = scatter(slots[cells_[cell]].id) & mask;
    if (((cell - home) & mask) < ((cell - hole) & mask)) continue;
    cells_[hole] = cells_[cell];
    cells_[cell] = kEmpty;
    hole = cell;
  }
}

// ---- entries --------------------------------------------------------------------------------------

void PendingQueue::insert(const PendingEntry& entry, const Request& request) {
  MINKE_CHECK(entry.startable > 0 && !index_.find(entry.id, slots_));
  auto [known, is_new] = class_ids_.try_emplace(request, 0);
  if (is_new) {
    if (free_classes_.empty()) {
      known->second = static_cast<ClassId>(classes_.size());
      classes_.emplace_back();
    } else {
      known->second = free_classes_.back();
      free_classes_.pop_back();
    }
    classes_[known->second].request = request;
    classes_[known->second].possible = {};
    ++live_classes_;
  }
  const ClassId class_id = known->second;
  Class& group = classes_[class_id];

  std::uint32_t slot = free_slot_;
  if (slot == kNoSlot) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    free_slot_ = slots_[slot].position;
  }
  const auto position = static_cast<std::uint32_t>(group.heap.size());
  slots_[slot] = {entry.id, entry.startable, position, class_id};
  index_.insert(entry.id, slot, slots_);
  group.heap.push_back({entry.priority, entry.order, slot});
  sift_up(group, position);
  if (is_new) {
    tree_.add(class_id, {entry.priority, entry.order, entry.id}, least_demand(group.request),
              group.request.partition);
  } else if (slots_[slot].position == 0) {
    head_changed(class_id);
  }
}

void PendingQueue::head_changed(ClassId id) {
  const Class& group = classes_[id];
  const HeapItem& first = group.heap.front();
  tree_.set_key(id, {first.priority, first.order, slots_[first.slot].id});
}

bool PendingQueue::remove(EntryId id) {
  const auto slot = index_.find(id, slots_);
  if (!slot) return false;
  erase_slot(*slot);
  return true;
}

bool PendingQueue::set_priority(EntryId id, std::uint64_t priority) {
  const auto slot = index_.find(id, slots_);
  if (!slot) return false;
  Class& group = classes_[slots_[*slot].class_id];
  group.heap[slots_[*slot].position].priority = priority;
  sift_up(group, slots_[*slot].position);
  sift_down(group, slots_[*slot].position);
  head_changed(slots_[*slot].class_id);
  return true;
}

bool PendingQueue::set_startable(EntryId id, std::uint32_t startable) {
  const auto slot = index_.find(id, slots_);
  if (!slot) return false;
  slots_[*slot].startable = startable;
  if (startable == 0) erase_slot(*slot);
  return true;
}

std::optional<PendingEntry> PendingQueue::find(EntryId id) const {
  const auto slot = index_.find(id, slots_);
  if (!slot) return std::nullopt;
  return entry(classes_[slots_[*slot].class_id].heap[slots_[*slot].position]);
}

std::optional<PendingQueue::ClassId> PendingQueue::class_of(EntryId id) const {
  const auto slot = index_.find(id, slots_);
  if (!slot) return std::nullopt;
  return slots_[*slot].class_id;
}

const Request* PendingQueue::request_of(EntryId id) const {
  const auto class_id = class_of(id);
  return class_id ? &classes_[*class_id].request : nullptr;
}

std::size_t PendingQueue::entries_of_class(const Request& request) const {
  const auto known = class_ids_.find(request);
  return known == class_ids_.end() ? 0 : classes_[known->second].heap.size();
}

void PendingQueue::take_from_head(ClassId id, std::uint32_t count) {
  MINKE_CHECK(class_alive(id));
  const std::uint32_t slot = classes_[id].heap.front().slot;
  MINKE_CHECK(count <= slots_[slot].startable);
  slots_[slot].startable -= count;
  if (slots_[slot].startable == 0) erase_slot(slot);
}

void PendingQueue::erase_slot(std::uint32_t slot) {
  const ClassId class_id = slots_[slot].class_id;
  Class& group = classes_[class_id];
  const std::uint32_t position = slots_[slot].position;
  const HeapItem last = group.heap.back();
  group.heap.pop_back();
  if (last.slot != slot) {
    put(group, position, last);
    sift_up(group, position);
    sift_down(group, slots_[last.slot].position);
  }
  index_.erase(slots_[slot].id, slots_);
  slots_[slot] = {};
  slots_[slot].position = free_slot_;
  free_slot_ = slot;
  if (group.heap.empty()) {
    class_ids_.erase(group.request);
    tree_.remove(class_id);
    group = {};
    free_classes_.push_back(class_id);
    --live_classes_;
  } else if (group.heap.capacity() > 64 && group.heap.size() < group.heap.capacity() / 4) {
    group.heap.shrink_to_fit();
  }
  if (position == 0 && !group.heap.empty()) head_changed(class_id);
  if (size() == 0 && slots_.capacity() > kKeptSlots) {  // give back what a long queue took
    slots_ = {};
    free_slot_ = kNoSlot;
    index_ = {};
  }
}

// ---- the heap of a class --------------------------------------------------------------------------

void PendingQueue::sift_up(Class& group, std::uint32_t position) {
  const HeapItem item = group.heap[position];
  while (position > 0) {
    const std::uint32_t parent = (position - 1) / kArity;
    if (!item_before(item, group.heap[parent])) break;
    put(group, position, group.heap[parent]);
    position = parent;
  }
  put(group, position, item);
}

void PendingQueue::sift_down(Class& group, std::uint32_t position) {
  const HeapItem item = group.heap[position];
  const auto size = static_cast<std::uint32_t>(group.heap.size());
  for (std::uint32_t first = position * kArity + 1; first < size; first = position * kArity + 1) {
    std::uint32_t best = first;
    for (std::uint32_t child = first + 1; child < std::min(first + kArity, size); ++child) {
      if (item_before(group.heap[child], group.heap[best])) best = child;
    }
    if (!item_before(group.heap[best], item)) break;
    put(group, position, group.heap[best]);
    position = best;
  }
  put(group, position, item);
}

// ---- walking in order -----------------------------------------------------------------------------

PendingQueue::Cursor::Cursor(const PendingQueue& queue) : queue_(queue) {
  for (ClassId id = 0; id < queue.class_slots(); ++id) {
    if (queue.class_alive(id)) push(id, 0);
  }
}

void PendingQueue::Cursor::push(ClassId class_id, std::uint32_t position) {
  const auto& heap = queue_.classes_[class_id].heap;
  if (position >= heap.size()) return;
  frontier_.push_back({queue_.entry(heap[position]), class_id, position});
  std::push_heap(frontier_.begin(), frontier_.end(),
                 [](const Candidate& a, const Candidate& b) { return before(b.entry, a.entry); });
}

std::optional<PendingQueue::Cursor::Item> PendingQueue::Cursor::next() {
  if (frontier_.empty()) return std::nullopt;
  std::pop_heap(frontier_.begin(), frontier_.end(),
                [](const Candidate& a, const Candidate& b) { return before(b.entry, a.entry); });
  const Candidate best = frontier_.back();
  frontier_.pop_back();
  // An entry's children in the heap come after it, and only they can become the next best of their class.
  for (std::uint32_t i = 1; i <= kArity; ++i) push(best.class_id, best.position * kArity + i);
  return Item{best.entry, best.class_id};
}

}  // namespace minke::sched
