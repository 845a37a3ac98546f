// One's runs with the metrics of their training: ranked as minke jobs ranks them, and side by side.
#include <algorithm>
#include <set>

#include "api/accounting.pb.h"
#include "engine/engine.h"
#include "helpers/tracked_jobs.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/usage.pb.h"
#include "portal/desk.h"
#include "portal/found_job.h"
#include "portal/job_json.h"
#include "portal/page_answers.h"
#include "text/list.h"
#include "text/printable.h"
#include "view/run_parameters.h"
#include "view/training_metrics.h"

namespace minke::portal {
namespace {

constexpr size_t kMostCompared = 12;
constexpr size_t kMostNames = 200;
constexpr size_t kSearched = 30;  // newest jobs whose files are read, if their records have no metrics yet

Json metrics_of(const view::Metrics& metrics) {
  Json values = Json::object();
  for (const model::Metric& one : metrics) {
    if (values.size() == kMostNames) break;
    values[text::printable(one.name())] = {
        {"last", one.last()}, {"least", one.least()}, {"largest", one.largest()}};
  }
  return values;
}

Json parameters_of(const model::JobRecord& job, const std::string& script) {
  Json list = Json::array();
  for (const view::RunParameter& one : view::run_parameters(job, script))
    list.push_back({{"name", text::printable(one.name)}, {"value", text::printable(one.value)}});
  return list;
}

Json names_of(const std::vector<view::TrackedJob>& jobs) {
  std::set<std::string> seen;
  Json names = Json::array();
  for (const view::TrackedJob& job : jobs)
    for (const model::Metric& one : job.metrics)
      if (names.size() < kMostNames && seen.insert(one.name()).second)
        names.push_back(text::printable(one.name()));
  return names;
}

Result<Reply> ranked_page(Call& call) {
  helpers::Tracking tracking{.uid = call.desk.uid(), .since = call.number("since"), .searched = kSearched};
  auto tracked = helpers::tracked_jobs(call.cluster, tracking);
  if (!tracked) return failure(tracked.error());
  std::vector<view::TrackedJob>& jobs = tracked->jobs;
  std::erase_if(jobs, [](const view::TrackedJob& job) { return job.metrics.empty(); });
  std::reverse(jobs.begin(), jobs.end());  // the newest first, until something ranks them
  Json value = {{"now", tracked->records.now}, {"names", names_of(jobs)}};
  view::Ranking ranking{.metrics = {},
                        .value = call.has("value") ? call.text("value") : "last",
                        .ascending = call.text("order") == "ascending"};
  if (call.has("metric")) {
    ranking.metrics.push_back(call.text("metric"));
    view::rank(jobs, ranking);
  }
  const auto limit = static_cast<size_t>(call.number("limit", 100));
  value["total"] = jobs.size();
  if (jobs.size() > limit) jobs.resize(limit);
  value["runs"] = Json::array();
  for (const view::TrackedJob& job : jobs)
    value["runs"].push_back(
        {{"job", job_row(*job.job, tracked->records.now)}, {"metrics", metrics_of(job.metrics)}});
  value["disputes"] = Json::array();
  for (const std::string& dispute : tracked->disputes) value["disputes"].push_back(text::printable(dispute));
  return json_reply(value);
}

}  // namespace

Result<Reply> rank_runs(Call& call) {
  return call.desk.remembered().get("rank_runs " + call.text("metric") + "\n" + call.text("value") + "\n" +
                                        call.text("order") + "\n" + call.text("since") + "\n" +
                                        call.text("limit"),
                                    [&] { return ranked_page(call); });
}

Result<Reply> compare_runs(Call& call) {
  const std::vector<std::string> wanted = text::split_list(call.text("jobs"));
  if (wanted.size() > kMostCompared) return failure("at most 12 runs are compared", EINVAL);
  Json value = {{"now", 0}, {"runs", Json::array()}, {"missing", Json::array()}};
  for (const std::string& id : wanted) {
    call.set("job", id);
    const auto found = find_job(call, true);
    if (!found && found.error().code != model::kInvalidJobId) return failure(found.error());
    if (!found) {
      value["missing"].push_back(text::printable(id));
      continue;
    }
    const model::JobRecord& job = found->accounted.job();
    const auto script = call.cluster.script(job.job_id());
    value["now"] = found->now;
    value["runs"].push_back({{"job", job_row(job, found->now)},
                             {"details", job_details(job)},
                             {"efficiency", efficiency_json(found->accounted, found->now, found->note)},
                             {"parameters", parameters_of(job, script ? *script : std::string())}});
  }
  return json_reply(value);
}

}  // namespace minke::portal
