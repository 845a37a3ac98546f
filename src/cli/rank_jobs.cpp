// minke jobs: one's own jobs, ranked by the metrics that their training wrote.
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "api/accounting.pb.h"
#include "cli/tracking.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "helpers/keep_metrics.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/usage.pb.h"
#include "os/minke_home.h"
#include "text/timestamp.h"
#include "view/output.h"
#include "view/training_metrics.h"

namespace minke::cli {

namespace {

int complain(const std::string& message) {
  std::fprintf(stderr, "minke: error: %s\n", message.c_str());
  return 1;
}

bool has_ended(const model::JobRecord& job) {
  return job.state() != model::JOB_RUNNING && job.state() != model::JOB_SUSPENDED;
}

Result<engine::AccountingRecords> own_jobs(engine::Engine& cluster, const std::string& since) {
  api::QueryAccountingRequest query;
  query.mutable_filter()->add_uids(::getuid());
  query.mutable_filter()->set_all_states(true);
  if (!since.empty()) {
    const auto from = text::parse_time(since, std::time(nullptr));
    if (!from) return failure("no time: " + since);
    query.set_from(*from);
  }
  return engine::fetch_accounting(cluster, query);
}

struct Tracked {
  std::vector<view::TrackedJob> jobs;
  std::vector<std::string> disputes;  // files whose job is ambiguous
};

// Returns the jobs that have begun, with the metrics of their records, or else of their files.
Tracked read_metrics(engine::Engine& cluster, const std::string& home,
                     const engine::AccountingRecords& accounted) {
  std::vector<const model::JobRecord*> records;
  for (const api::AccountedJob* one : accounted.records) records.push_back(&one->job());
  Tracked tracked;
  for (const model::JobRecord* job : records) {
    if (job->state() == model::JOB_PENDING) continue;
    view::TrackedJob& row = tracked.jobs.emplace_back();
    row = {job, job->metrics()};
    if (!row.metrics.empty() || job->start_time() == 0) continue;
    helpers::MetricSearch search = helpers::search_for(*job, home, helpers::rivals_of(*job, records));
    search.update();
    const ml::MetricSet set = search.all();
    row.metrics = set.record(ml::MetricSet::kMaxSeries);
    if (std::string dispute = search.dispute(); !dispute.empty())
      tracked.disputes.push_back(std::move(dispute));
    if (has_ended(*job)) helpers::keep_metrics(cluster, *job, set);
  }
  return tracked;
}

}  // namespace

int rank_jobs(const RankOptions& options) {
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error().message);
  const auto home = os::minke_home();
  if (!home) return complain(home.error().message);
  const auto accounted = own_jobs(**cluster, options.since);
  if (!accounted) return complain(accounted.error().message);
  Tracked tracked = read_metrics(**cluster, *home, *accounted);
  std::vector<view::TrackedJob>& jobs = tracked.jobs;
  if (!options.metrics.empty())
    std::erase_if(jobs, [&](const auto& job) { return !view::has_any(job, options.metrics); });
  view::Ranking ranking{options.metrics, options.value, options.ascending};
  if (ranking.metrics.empty()) ranking.metrics = view::first_metrics(jobs);
  for (const std::string& dispute : tracked.disputes) std::fprintf(stderr, "minke: %s\n", dispute.c_str());
  if (options.sort && ranking.metrics.empty()) return complain("no job has metrics to sort by");
  if (options.sort) view::rank(jobs, ranking);
  view::write_out(options.json ? view::ranking_json(jobs)
                               : view::ranking_table(jobs, ranking, accounted->now));
  return 0;
}

}  // namespace minke::cli
