#include "engine/user_jobs.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "api/accounting.pb.h"
#include "api/job_filter.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"

namespace minke::engine {
namespace {

bool has_ended(const model::JobRecord& job) {
  return job.end_time() != 0 && job.state() != model::JOB_PENDING && job.state() != model::JOB_RUNNING &&
         job.state() != model::JOB_SUSPENDED && job.state() != model::JOB_REQUEUED;
}

}  // namespace

Result<UserJobs> fetch_user_jobs(Engine& cluster, uid_t uid, int64_t seconds, uint32_t most) {
  UserJobs found;
  api::JobFilter mine;
  mine.add_uids(uid);
  auto queue = fetch_jobs(cluster, mine);
  if (!queue) return failure(queue.error());
  found.queue = std::move(*queue);
  found.now = found.queue.now != 0 ? found.queue.now : std::time(nullptr);
  for (const model::JobRecord* job : found.queue.records)
    if (!has_ended(*job)) found.queued.push_back(job);
  std::stable_sort(found.queued.begin(), found.queued.end(), [](const auto* a, const auto* b) {
    const bool waits = a->state() == model::JOB_PENDING, other_waits = b->state() == model::JOB_PENDING;
    return waits != other_waits ? other_waits : a->job_id() < b->job_id();
  });
  api::QueryAccountingRequest query;
  *query.mutable_filter() = std::move(mine);
  query.mutable_filter()->set_all_states(true);
  query.set_from(found.now - seconds);
  query.set_newest(most);
  auto record = fetch_accounting(cluster, query);
  if (!record) return failure(record.error());
  found.record = std::move(*record);
  for (const api::AccountedJob* one : found.record.records)
    if (has_ended(one->job()) && one->job().end_time() >= found.now - seconds)
      found.ended.push_back(&one->job());
  std::stable_sort(found.ended.begin(), found.ended.end(),
                   [](const auto* a, const auto* b) { return a->end_time() > b->end_time(); });
  if (found.ended.size() > most) found.ended.resize(most);
  return Result<UserJobs>(std::move(found));  // moved: pointers stay, for the vectors' memory does
}

}  // namespace minke::engine
