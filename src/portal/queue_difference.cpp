#include "portal/queue_difference.h"

#include <algorithm>
#include <utility>

#include "model/job_record.pb.h"

namespace minke::portal {
namespace {

uint64_t hash_of(const model::JobRecord& job) {
  uint64_t hash = 0;
  const auto add = [&hash](uint64_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15 + (hash >> 29); };
  add(static_cast<uint64_t>(job.state()) << 32 | static_cast<uint64_t>(job.reason()) << 1 |
      static_cast<uint64_t>(job.completing()));
  add(job.priority());
  add(static_cast<uint64_t>(job.end_time()));
  add(job.state() == model::JOB_PENDING ? 0 : static_cast<uint64_t>(job.start_time()));
  add(job.time_limit_minutes());
  for (const model::IndexRange& range : job.array_pending().ranges())
    add(static_cast<uint64_t>(range.first()) << 32 | range.last());
  return hash;
}

// When it was submitted, began or ended, whichever came last: s since the epoch.
int64_t latest_time(const model::JobRecord& job) {
  return std::max({job.submit_time(), job.state() == model::JOB_PENDING ? 0 : job.start_time(),
                   job.state() >= model::JOB_COMPLETE ? job.end_time() : 0});
}

}  // namespace

QueueDifference::Changed QueueDifference::look(std::span<const model::JobRecord* const> jobs, int64_t since) {
  std::unordered_map<uint32_t, uint64_t> now;
  now.reserve(jobs.size());
  Changed changed;
  const bool is_first = !std::exchange(has_last_, true);
  for (const model::JobRecord* job : jobs) {
    const uint64_t hash = hash_of(*job);
    now[job->job_id()] = hash;
    const auto before = last_.find(job->job_id());
    if (is_first ? latest_time(*job) < since : before != last_.end() && before->second == hash) continue;
    if (++changed.count <= kMostNamed) changed.named.push_back(job);
  }
  for (const auto& [id, hash] : last_) changed.count += now.contains(id) ? 0 : 1;
  last_ = std::move(now);
  return changed;
}

}  // namespace minke::portal
