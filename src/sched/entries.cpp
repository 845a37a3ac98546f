#include "sched/entries.h"

#include <unordered_set>

#include "model/job_state.pb.h"
#include "sched/wait_reason.h"

namespace minke::sched {

std::vector<std::uint32_t> jobs_before(const PendingQueue& queue, const WaitReasons& reasons, EntryId entry,
                                       std::size_t most, std::size_t most_looks) {
  std::vector<std::uint32_t> before;
  const Request* own = queue.request_of(entry);
  if (own == nullptr) return before;
  std::unordered_set<std::uint32_t> seen;  // looked up only
  PendingQueue::Cursor cursor(queue);
  for (std::size_t looks = 0; looks < most_looks && before.size() < most; ++looks) {
    const auto item = cursor.next();
    if (!item || job_of_entry(item->entry.id) == job_of_entry(entry)) break;
    if (queue.request(item->class_id).partition != own->partition) continue;
    const model::StateReason reason = reasons.of(item->entry.id);
    if (reason != model::WAIT_RESOURCES && reason != model::WAIT_PRIORITY) continue;
    const std::uint32_t id = job_of_entry(item->entry.id);
    if (seen.insert(id).second) before.push_back(id);
  }
  return before;
}

}  // namespace minke::sched
