#include "engine/embedded/scheduling/outlook.h"

#include <algorithm>

#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/history.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/scheduling/world.h"

namespace minke::engine {

using namespace model;

std::optional<sched::ExpectedStart> Outlook::start(const Job& job) {
  if (forecasts_left_ == 0) return std::nullopt;
  if (job.queued) {
    --forecasts_left_;
    return core_.world->forecast(job, core_.now(), options_);
  }
  const auto from = eligible(job);
  if (!from || forecasts_left_-- == 0) return std::nullopt;
  return core_.scheduling->forecast_later(job, *from, options_);
}

std::optional<int64_t> Outlook::end(const Job& job) {
  if (job.holds_nodes()) {
    if (!core_.history->knows_end(job)) return std::nullopt;
    return std::max(core_.now(), core_.history->expected_end(job));
  }
  if (job.is_array_record())
    return std::nullopt;  // of tasks yet to come: nobody knows when the last one ends
  const auto expected = start(job);
  const int64_t seconds = core_.scheduling->expected_seconds(job);
  const bool endless = job.time_limit_minutes == kUnlimited && seconds >= sched::kUnlimitedSeconds;
  if (!expected || expected->after_unlimited || endless) return std::nullopt;
  return expected->start + seconds;
}

std::optional<int64_t> Outlook::eligible(const Job& job) {
  const int64_t now = core_.now();
  if (job.queued) return now;
  if (job.priority == 0 || job.het_job_id != 0) return std::nullopt;
  switch (job.reason) {
    case WAIT_TIME:
      return std::max(now, job.eligible_time);
    case WAIT_DEPENDENCY:
      return all_fulfilled(job);
    case WAIT_ARRAY_TASK_LIMIT: {
      const ArrayGroup* group = core_.state.find_array(job.array_job_id);
      std::optional<int64_t> first;
      for (const uint32_t id : group->jobs) {
        const Job* task = core_.state.find(id);
        if (task == nullptr || !task->holds_nodes()) continue;
        const auto ends = end(*task);
        if (ends) first = std::min(first.value_or(*ends), *ends);
      }
      return first;
    }
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> Outlook::all_fulfilled(const Job& job) {
  if (!job.details) return std::nullopt;
  std::optional<int64_t> time;
  for (const Dependency& term : job.details->dependencies) {
    if (term.status() == DEPENDENCY_FULFILLED) continue;
    if (term.status() == DEPENDENCY_FAILED && job.submission->any_dependency) continue;
    const auto one = fulfilled(job, term);
    if (job.submission->any_dependency) {
      if (one) time = std::min(time.value_or(*one), *one);
    } else if (!one) {
      return std::nullopt;
    } else {
      time = std::max(time.value_or(*one), *one);
    }
  }
  if (time) time = std::max(*time, job.submission->brief_spec().begin_time);
  return time;
}

std::optional<int64_t> Outlook::fulfilled(const Job& job, const Dependency& term) {
  const auto of_job = [&](const Job& other) -> std::optional<int64_t> {
    if (term.type() != AFTER) return end(other);
    const int64_t delay = int64_t{term.delay_minutes()} * 60;
    if (other.holds_nodes()) return std::max(core_.now(), other.start_time + delay);
    const auto expected = start(other);
    if (!expected || expected->after_unlimited) return std::nullopt;
    return expected->start + delay;
  };
  if (term.type() == SINGLETON || term.type() == AFTER_BURST_BUFFER) return std::nullopt;
  if (term.type() == AFTER_CORR && job.is_array_record()) return std::nullopt;
  if (term.has_array_task_id()) {
    const Job* task = core_.state.find_task(term.job_id(), term.array_task_id());
    if (task == nullptr) return std::nullopt;
    return of_job(*task);
  }
  const ArrayGroup* group = term.whole_array() ? core_.state.find_array(term.job_id()) : nullptr;
  if (group == nullptr) {
    const Job* other = core_.state.find(term.job_id());
    if (other == nullptr) return std::nullopt;
    return of_job(*other);
  }
  std::optional<int64_t> last;
  for (const uint32_t id : group->jobs) {
    const Job* task = core_.state.find(id);
    if (task == nullptr || task->ended()) continue;
    const auto one = of_job(*task);
    if (!one) return std::nullopt;
    last = std::max(last.value_or(*one), *one);
  }
  return last;
}

}  // namespace minke::engine
