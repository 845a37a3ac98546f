#include "sched/wait_reason.h"

#include <algorithm>
#include <optional>

#include "model/job_state.pb.h"
#include "sched/placer.h"

namespace minke::sched {

namespace {

// A hold of another reservation without which the request could run now on an idle machine; null: there is
// none.
const Hold* hold_in_the_way(const Machine& machine, const Request& request, std::int64_t now) {
  const std::int64_t end = now + request.planned_seconds();
  if (Placer(machine, View::kIdleAvailable, nullptr, now, end).select(request)) return nullptr;
  const Hold* found = nullptr;
  const RankSet& members = machine.layout().partitions()[request.partition].members;
  for (const Hold& hold : machine.holds()->all()) {
    const std::uint32_t rank = machine.layout().nodes()[hold.node].rank;
    const bool member = ((members.word(rank / 64) >> (rank % 64)) & 1) != 0;
    if (!member || hold.id == request.reservation || !overlaps(hold, now, end)) continue;
    if (found == nullptr || hold.maintenance) found = &hold;
  }
  return found;
}

bool waits_for_its_own(const Machine& machine, const Request& request, std::int64_t now) {
  if (request.reservation == 0) return false;
  return !machine.holds()->is_open(request.reservation, now);
}

}  // namespace

WaitReasons::WaitReasons(const Machine& machine, const PendingQueue& queue, std::int64_t now,
                         const LimitGate& gate)
    : queue_(queue),
      class_hold_(queue.class_slots(), nullptr),
      class_reason_(queue.class_slots(), model::WAIT_PRIORITY) {
  const bool holds = machine.holds() != nullptr && now != 0;
  std::vector<std::optional<PendingEntry>> first(machine.layout().partitions().size());
  for (PendingQueue::ClassId id = 0; id < queue.class_slots(); ++id) {
    if (!queue.class_alive(id)) continue;
    const Request& request = queue.request(id);
    if (!machine.schedulable(request.partition)) {
      class_reason_[id] = model::WAIT_PART_DOWN;
    } else if (!machine.all_available() && !machine.could_on_available(request)) {
      class_reason_[id] = model::WAIT_NODE_NOT_AVAIL;
    } else if (holds && waits_for_its_own(machine, request, now)) {
      class_reason_[id] = model::WAIT_RESERVATION;
    } else if (holds && (class_hold_[id] = hold_in_the_way(machine, request, now)) != nullptr) {
      class_reason_[id] = model::WAIT_NODE_NOT_AVAIL;
    } else if (!machine.has_licenses(request, now, now + request.planned_seconds())) {
      class_reason_[id] = model::WAIT_LICENSES;
    } else if (const auto limit = refused(gate, request)) {
      class_reason_[id] = *limit;
    } else {
      auto& best = first[request.partition];
      const PendingEntry head = queue.head(id);
      if (!best || PendingQueue::before(head, *best)) best = head;
    }
  }
  for (const auto& entry : first) first_.push_back(entry ? entry->id : ~EntryId{0});
}

const Hold* WaitReasons::held(EntryId entry) const {
  const auto class_id = queue_.class_of(entry);
  return class_id ? class_hold_[*class_id] : nullptr;
}

model::StateReason WaitReasons::of(EntryId entry) const {
  const auto class_id = queue_.class_of(entry);
  if (!class_id) return model::WAIT_NO_REASON;
  if (class_reason_[*class_id] != model::WAIT_PRIORITY) return class_reason_[*class_id];
  return first_[queue_.request(*class_id).partition] == entry ? model::WAIT_RESOURCES : model::WAIT_PRIORITY;
}

}  // namespace minke::sched
