#include "sched/wait_reason.h"

#include <optional>

namespace minke::sched {

WaitReasons::WaitReasons(const Machine& machine, const PendingQueue& queue)
    : queue_(queue), class_reason_(queue.class_slots(), model::WAIT_PRIORITY) {
  std::vector<std::optional<PendingEntry>> first(machine.layout().partitions().size());
  for (PendingQueue::ClassId id = 0; id < queue.class_slots(); ++id) {
    if (!queue.class_alive(id)) continue;
    const Request& request = queue.request(id);
    if (!machine.schedulable(request.partition)) {
      class_reason_[id] = model::WAIT_PART_DOWN;
    } else if (!machine.all_available() && !machine.could_on_available(request)) {
      class_reason_[id] = model::WAIT_NODE_NOT_AVAIL;
    } else if (!machine.has_licenses(request)) {
      class_reason_[id] = model::WAIT_LICENSES;
    } else {
      auto& best = first[request.partition];
      const PendingEntry head = queue.head(id);
      if (!best || PendingQueue::before(head, *best)) best = head;
    }
  }
  for (const auto& entry : first) first_.push_back(entry ? entry->id : ~EntryId{0});
}

model::StateReason WaitReasons::of(EntryId entry) const {
  const auto class_id = queue_.class_of(entry);
  if (!class_id) return model::WAIT_NO_REASON;
  if (class_reason_[*class_id] != model::WAIT_PRIORITY) return class_reason_[*class_id];
  return first_[queue_.request(*class_id).partition] == entry ? model::WAIT_RESOURCES : model::WAIT_PRIORITY;
}

}  // namespace minke::sched
