// minke jobs: one's own jobs, ranked by the metrics that their training wrote.
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "cli/complain.h"
#include "cli/no_time.h"
#include "cli/tracking.h"
#include "engine/open.h"
#include "helpers/tracked_jobs.h"
#include "text/timestamp.h"
#include "view/output.h"

namespace minke::cli {

namespace {}  // namespace

int rank_jobs(const RankOptions& options) {
  helpers::Tracking tracking{.uid = ::getuid()};
  if (!options.since.empty()) {
    const auto from = text::parse_time(options.since, std::time(nullptr));
    if (!from) return complain(no_time(options.since).message);
    tracking.since = *from;
  }
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error().message);
  auto tracked = helpers::tracked_jobs(**cluster, tracking);
  if (!tracked) return complain(tracked.error().message);
  std::vector<view::TrackedJob>& jobs = tracked->jobs;
  if (!options.metrics.empty())
    std::erase_if(jobs, [&](const auto& job) { return !view::has_any(job, options.metrics); });
  view::Ranking ranking{options.metrics, options.value, options.ascending};
  if (ranking.metrics.empty()) ranking.metrics = view::first_metrics(jobs);
  for (const std::string& dispute : tracked->disputes) std::fprintf(stderr, "minke: %s\n", dispute.c_str());
  if (options.sort && ranking.metrics.empty()) return complain("no job has metrics to sort by");
  if (options.sort) view::rank(jobs, ranking);
  view::write_out(options.json ? view::ranking_json(jobs)
                               : view::ranking_table(jobs, ranking, tracked->records.now));
  return 0;
}

}  // namespace minke::cli
