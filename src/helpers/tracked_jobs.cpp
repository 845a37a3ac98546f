#include "helpers/tracked_jobs.h"

#include <algorithm>
#include <utility>

#include "api/accounting.pb.h"
#include "helpers/keep_metrics.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/usage.pb.h"
#include "os/minke_home.h"

namespace minke::helpers {
namespace {

bool goes_on(const model::JobRecord& job) {
  return job.state() == model::JOB_RUNNING || job.state() == model::JOB_SUSPENDED;
}

}  // namespace

Result<TrackedJobs> tracked_jobs(engine::Engine& cluster, const Tracking& tracking) {
  const auto home = os::minke_home();
  if (!home) return failure(home.error());
  api::QueryAccountingRequest query;
  query.mutable_filter()->add_uids(tracking.uid);
  query.mutable_filter()->set_all_states(true);
  if (tracking.since != 0) query.set_from(tracking.since);
  auto fetched = engine::fetch_accounting(cluster, query);
  if (!fetched) return failure(fetched.error());
  TrackedJobs tracked{.records = std::move(*fetched), .jobs = {}, .disputes = {}};
  std::vector<const model::JobRecord*> all;
  for (const api::AccountedJob* one : tracked.records.records) all.push_back(&one->job());
  size_t left = 0;
  for (const model::JobRecord* job : all) left += job->state() != model::JOB_PENDING ? 1 : 0;
  for (const model::JobRecord* job : all) {
    if (job->state() == model::JOB_PENDING) continue;
    view::TrackedJob& row = tracked.jobs.emplace_back();
    row = {job, job->metrics()};
    const bool is_searched = left-- <= tracking.searched;  // they come by their numbers, the newest last
    if (!row.metrics.empty() || job->start_time() == 0 || !is_searched) continue;
    MetricSearch search = search_for(*job, *home, rivals_of(*job, all));
    search.update();
    const ml::MetricSet set = search.all();
    row.metrics = set.record(ml::MetricSet::kMaxSeries);
    if (std::string dispute = search.dispute(); !dispute.empty())
      tracked.disputes.push_back(std::move(dispute));
    if (!goes_on(*job)) keep_metrics(cluster, *job, set);
  }
  return Result<TrackedJobs>(std::move(tracked));  // moved: the jobs point into the records
}

}  // namespace minke::helpers
