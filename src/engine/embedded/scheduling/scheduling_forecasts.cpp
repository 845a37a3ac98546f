// Scheduling run forward on copies of its state: when jobs will start, as they are or
// changed, and why they wait until then.
#include <algorithm>
#include <utility>

#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/shortages.h"
#include "engine/embedded/scheduling/forecast_slice.h"
#include "engine/embedded/scheduling/history.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/priorities.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/scheduling/submission_forecast.h"
#include "engine/embedded/scheduling/world.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"

namespace minke::engine {

namespace {

constexpr int64_t kForecastKeptSeconds = 10;

}  // namespace

std::shared_ptr<QueueForecast> Scheduling::forecast() const {
  const int64_t now = core_.now();
  if (!forecast_ || now - forecast_time_ > kForecastKeptSeconds || now < forecast_time_) {
    forecast_ = std::make_shared<QueueForecast>(
        sched::ForecastInPieces::forecast(machine_, queue_, running_, now, core_.history->beliefs()));
    forecast_time_ = now;
  }
  return forecast_;
}

int64_t Scheduling::expected_seconds(const Job& job) const {
  if (const sched::Request* request = core_.world->request_of(job))
    return core_.history->expected_seconds(job, *request);
  const auto request =
      first_request(job.submission->spec(), job.submission->partitions, job.time_limit_minutes);
  return request ? core_.history->expected_seconds(job, *request)
                 : sched::limit_seconds(job.time_limit_minutes);
}

std::optional<sched::ForecastInPieces> Scheduling::forecast_later(
    const Job& job, int64_t from, int64_t now, const sched::ForecastOptions& options) const {
  if (core_.world->entry_of(job)) return core_.world->forecast(job, now, options);
  const model::JobSpec spec = job.submission->spec();
  auto request = first_request(spec, job.submission->partitions, job.time_limit_minutes);
  if (!request || job.het_job_id != 0) return std::nullopt;
  apply_limits(job, spec, *request);
  const std::string& name = machine_.layout().partitions()[request->partition].name;
  const sched::PendingEntry entry{
      .id = World::entry_of(job.id, 0),
      .priority =
          sched::priority_in_tier(core_.nodes->find_partition(name)->priority_tier(), priority_in(job, name)),
      .order = sched::order_of(job.id, false),
      .startable = 1};
  return sched::ForecastInPieces::forecast_later(machine_, queue_, running_, entry, *request, from, now,
                                                 options);
}

std::optional<sched::ForecastInPieces> Scheduling::forecast_changed(const Job& job,
                                                                    const sched::Request& request) const {
  const auto entry = core_.world->entry_of(job);
  if (!entry) return std::nullopt;
  return sched::ForecastInPieces::forecast_changed(machine_, queue_, running_, *entry, request, core_.now(),
                                                   core_.history->beliefs());
}

Status Scheduling::check_together(const std::vector<model::JobSpec>& specs) const {
  const auto request = request_together(specs);
  if (!request) return failure(request.error());
  return machine_.could_ever(*request);
}

Result<sched::Request> Scheduling::request_together(const std::vector<model::JobSpec>& specs) const {
  std::optional<sched::Request> all;
  for (const model::JobSpec& spec : specs) {
    auto request =
        first_request(spec, make_submission(0, spec, core_.nodes->default_partition().name()).partitions, 0);
    if (!request) return request;
    if (all) {
      all->companions.push_back(std::move(*request));
    } else {
      all = std::move(*request);
    }
  }
  return *all;
}

uint64_t Scheduling::enter_hypothetically(Job& job, sched::Request& request) const {
  const std::string& name = machine_.layout().partitions()[request.partition].name;
  const model::JobSpec spec = job.submission->spec();
  apply_limits(job, spec, request);
  if (job.priority == 0) job.priority = 1;  // a held job is treated as if it were released
  core_.priorities->enter(job, spec, request);
  return sched::priority_in_tier(core_.nodes->find_partition(name)->priority_tier(), priority_in(job, name));
}

Result<HypotheticalEntry> Scheduling::hypothetical_entry(Job& job, const std::string& partition) const {
  // Its account may be gone since it was charged.
  if (core_.accounts->book().association(job.association) == nullptr) job.association = 0;
  auto request = request_for(job.submission->spec(), partition, 0);
  if (!request) return failure(request.error());
  const uint64_t priority = enter_hypothetically(job, *request);
  return HypotheticalEntry{partition, std::move(*request), priority, job.eligible_time};
}

Result<HypotheticalEntry> Scheduling::hypothetical_entry(
    const std::vector<std::unique_ptr<Job>>& components) const {
  std::optional<HypotheticalEntry> all;
  for (const auto& component : components) {
    auto request = first_request(component->submission->spec(), component->submission->partitions, 0);
    if (!request) return failure(request.error());
    const std::string& partition = machine_.layout().partitions()[request->partition].name;
    auto one = hypothetical_entry(*component, partition);
    if (!one) return one;
    if (!all) {
      all = std::move(*one);
      continue;
    }
    all->from = std::max(all->from, one->from);
    all->request.companions.push_back(std::move(one->request));
  }
  return std::move(*all);
}

model::StateReason Scheduling::reason_of(const sched::WaitReasons& reasons, const Job& job) const {
  if (job.het_job_id != 0 && !job.is_het_leader()) {
    const Job* leader = core_.state.find(job.het_job_id);
    return leader != nullptr && leader->queued ? reason_of(reasons, *leader) : job.reason;
  }
  if (!job.queued) return job.reason;
  if (launcher_is_missing()) return model::WAIT_NODE_NOT_AVAIL;
  if (core_.shortages->stops_all()) return model::WAIT_NODE_NOT_AVAIL;
  for (size_t i = 0; i < job.choices; ++i) {
    if (!queue_.find(World::entry_of(job.id, i))) continue;
    return reasons.of(World::entry_of(job.id, i));
  }
  return job.reason;
}

int64_t Scheduling::core_now() const {
  return core_.now();
}

bool Scheduling::launcher_is_missing() const {
  return core_.launcher != nullptr && !core_.launcher->problem().empty();
}

std::string Scheduling::reason_detail_of(const sched::WaitReasons& reasons, const Job& job) const {
  if (job.queued && launcher_is_missing())
    return "ReqNodeNotAvail, the launcher is gone: " + core_.launcher->problem();
  if (job.queued ? core_.shortages->stops_all() : job.reason == model::WAIT_NODE_NOT_AVAIL)
    return core_.shortages->reason(job.uid);
  if (!job.queued || machine_.holds() == nullptr) return "";
  const sched::Hold* hold = nullptr;
  for (size_t i = 0; i < job.choices && hold == nullptr; ++i) hold = reasons.held(World::entry_of(job.id, i));
  if (hold == nullptr) return "";
  return hold->maintenance ? "ReqNodeNotAvail, Reserved for maintenance"
                           : "ReqNodeNotAvail, May be reserved for other job";
}

}  // namespace minke::engine
