// The ids of queue entries. An entry is one choice of a job: one of its partitions in one of
// its reservations. The choices are all partitions in the first reservation, then all of
// them in the next. The order of jobs of equal priority is defined here, so that all queues
// order them alike. Pure; any thread.
// of equal priority is here, so that everybody who fills a queue orders them alike. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sched/ids.h"
#include "sched/pending_queue.h"

namespace minke::sched {

class WaitReasons;

inline constexpr std::uint32_t kPartitionBits = 8;          // the low bits of an entry's id: which choice
inline constexpr std::size_t kMaxChoicesOfJob = 255;        // of one job
inline constexpr EntryId kHypotheticalEntry = ~EntryId{0};  // of no job

constexpr std::uint32_t job_of_entry(EntryId entry) {
  return static_cast<std::uint32_t>(entry >> kPartitionBits);
}
constexpr std::size_t choice_of_entry(EntryId entry) {
  return static_cast<std::size_t>(entry & ((EntryId{1} << kPartitionBits) - 1));
}
constexpr EntryId entry_of(std::uint32_t job_id, std::size_t choice) {
  return (EntryId{job_id} << kPartitionBits) | choice;
}

// The value of PendingEntry::priority.
constexpr std::uint64_t priority_in_tier(std::uint32_t tier, std::uint32_t priority) {
  return (std::uint64_t{tier} << 32) | priority;
}
// The value of PendingEntry::order. Entries with a reservation come first, to use up reserved resources.
constexpr std::uint64_t order_of(std::uint32_t job_id, bool reserved) {
  return std::uint64_t{job_id} * 2 + (reserved ? 0 : 1);
}

// The jobs that outrank the entry in its partition and wait for their turn like it: each once, in the order
// of the queue, at most `most` of them. Looks at no more than `most_looks` entries of the queue. Empty if
// the entry is not in the queue.
std::vector<std::uint32_t> jobs_before(const PendingQueue& queue, const WaitReasons& reasons, EntryId entry,
                                       std::size_t most, std::size_t most_looks);

}  // namespace minke::sched
