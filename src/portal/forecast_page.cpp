// What the queue will come to: what the cluster is expected to hold in the next hours, and which jobs start
// next. Of a long queue the first jobs by priority are asked for; how many are left out is told.
#include <algorithm>
#include <ctime>

#include "api/jobs.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "portal/desk.h"
#include "portal/job_json.h"
#include "portal/page_answers.h"
#include "view/queue_forecast.h"
#include "view/text.h"
#include "view/waste.h"

namespace minke::portal {
namespace {

constexpr size_t kMostWaiting = 200, kMostRunning = 5000;

using Ordered = std::vector<const model::JobRecord*>;

void keep_first(Ordered& jobs, size_t most) {
  const auto middle = jobs.begin() + static_cast<ptrdiff_t>(std::min(most, jobs.size()));
  std::partial_sort(jobs.begin(), middle, jobs.end(), [](auto* a, auto* b) {
    return a->priority() != b->priority() ? a->priority() > b->priority() : a->job_id() < b->job_id();
  });
  jobs.erase(middle, jobs.end());
}

Json steps_of(const std::vector<view::HeldOverTime::Step>& steps) {
  Json time = Json::array(), cpus = Json::array(), gpus = Json::array();
  for (const view::HeldOverTime::Step& one : steps) {
    time.push_back(one.time);
    cpus.push_back(one.cpus);
    gpus.push_back(one.gpus);
  }
  return {{"time", std::move(time)}, {"cpus", std::move(cpus)}, {"gpus", std::move(gpus)}};
}

Result<Reply> forecast_page(Call& call) {
  const auto queue = call.desk.queue().get(call.cluster, std::chrono::seconds(2));
  if (!queue) return failure(queue.error());
  const int64_t now = (*queue)->now != 0 ? (*queue)->now : std::time(nullptr);
  Ordered waiting, running;
  for (const model::JobRecord* job : (*queue)->jobs) {
    if (view::is_finished(job->state())) continue;
    (job->state() == model::JOB_PENDING ? waiting : running).push_back(job);
  }
  const size_t all_waiting = waiting.size(), all_running = running.size();
  keep_first(waiting, kMostWaiting);
  if (running.size() > kMostRunning) running.resize(kMostRunning);
  view::QueueForecast forecast(now);
  Json starts = Json::array();
  const auto ask = [&](const Ordered& jobs, bool with_forecast) -> Status {
    if (jobs.empty()) return {};
    api::JobFilter filter;
    for (const model::JobRecord* job : jobs) filter.add_jobs()->set_job_id(job->job_id());
    const auto fetched = engine::fetch_jobs(call.cluster, std::move(filter), with_forecast);
    if (!fetched) return failure(fetched.error());
    Ordered told;
    for (const model::JobRecord* job : fetched->records) {
      const bool is_meant = std::binary_search(jobs.begin(), jobs.end(), job, [](auto* a, auto* b) {
        return a->job_id() < b->job_id();  // of an array's number all tasks come
      });
      if (!is_meant || (job->state() == model::JOB_PENDING) != with_forecast) continue;
      forecast.add(*job, view::held_gpus(*job));
      if (with_forecast && job->start_time() != 0) told.push_back(job);
    }
    std::stable_sort(told.begin(), told.end(),
                     [](auto* a, auto* b) { return a->start_time() < b->start_time(); });
    for (const model::JobRecord* job : told) starts.push_back(job_row(*job, now));
    return {};
  };
  const auto by_number = [](auto* a, auto* b) { return a->job_id() < b->job_id(); };
  std::sort(waiting.begin(), waiting.end(), by_number);
  if (const Status asked = ask(running, false); !asked) return failure(asked.error());
  if (const Status asked = ask(waiting, true); !asked) return failure(asked.error());
  const int64_t until = now + call.number("hours", 24) * 3600;
  return json_reply({{"now", now},
                     {"until", until},
                     {"running", all_running},
                     {"waiting", all_waiting},
                     {"forecast", forecast.forecast()},
                     {"left_out", all_waiting - waiting.size() + all_running - running.size()},
                     {"last_start", forecast.last_start()},
                     {"held", steps_of(forecast.steps(until))},
                     {"starts", std::move(starts)}});
}

}  // namespace

Result<Reply> show_forecast(Call& call) {
  return call.desk.remembered().get("forecast " + call.text("hours"), [&] { return forecast_page(call); });
}

}  // namespace minke::portal
