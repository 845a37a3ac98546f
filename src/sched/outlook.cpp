#include "sched/outlook.h"

#include <algorithm>

#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"

namespace minke::sched {

using namespace model;

// What it asks of others counts as a look, too: a chain, or a circle, of jobs none of which can be forecast
// would otherwise be followed to its end.
std::optional<ExpectedStart> Outlook::start(const OutlookJob& job) {
  if (starts_left_ <= 0) return std::nullopt;
  --starts_left_;
  if (job.queued) return jobs_.forecast(job.id);
  const auto from = eligible(job);
  if (!from) return std::nullopt;
  return jobs_.forecast_later(job.id, *from);
}

std::optional<std::int64_t> Outlook::end(const OutlookJob& job) {
  if (job.holds_nodes) {
    const auto expected = jobs_.expected_end(job.id);
    if (!expected) return std::nullopt;
    return std::max(jobs_.now(), *expected);
  }
  // Of tasks yet to come nobody knows when the last one ends.
  if (job.several_tasks) return std::nullopt;
  const auto expected = start(job);
  if (!expected || expected->after_unlimited) return std::nullopt;
  const std::int64_t seconds = jobs_.expected_seconds(job.id);
  if (job.no_limit && seconds >= kUnlimitedSeconds) return std::nullopt;
  return expected->start + seconds;
}

std::optional<std::int64_t> Outlook::eligible(const OutlookJob& job) {
  if (job.queued) return jobs_.now();
  if (job.priority == 0 || job.component) return std::nullopt;
  switch (job.reason) {
    case WAIT_TIME:
      return std::max(jobs_.now(), job.eligible_time);
    case WAIT_DEPENDENCY:
      return all_fulfilled(job);
    case WAIT_ARRAY_TASK_LIMIT:
      return next_task_ends(job.array_job_id);
    default:
      return std::nullopt;
  }
}

std::optional<std::int64_t> Outlook::next_task_ends(std::uint32_t array_job_id) {
  std::optional<std::int64_t> first;
  for (const std::uint32_t id : jobs_.array(array_job_id).value_or(std::vector<std::uint32_t>())) {
    const auto task = jobs_.job(id);
    if (!task || !task->holds_nodes) continue;
    if (const auto ends = end(*task)) first = std::min(first.value_or(*ends), *ends);
  }
  return first;
}

std::optional<std::int64_t> Outlook::all_fulfilled(const OutlookJob& job) {
  std::optional<std::int64_t> time;
  for (const Dependency& term : jobs_.dependencies(job.id)) {
    if (term.status() == DEPENDENCY_FULFILLED) continue;
    if (term.status() == DEPENDENCY_FAILED && job.any_dependency) continue;
    const auto one = fulfilled(job, term);
    if (job.any_dependency) {
      if (one) time = std::min(time.value_or(*one), *one);
    } else if (!one) {
      return std::nullopt;
    } else {
      time = std::max(time.value_or(*one), *one);
    }
  }
  if (time) time = std::max(*time, jobs_.begin_time(job.id));
  return time;
}

std::optional<std::int64_t> Outlook::fulfilled_by(const OutlookJob& other, const Dependency& term) {
  if (term.type() != AFTER) return end(other);
  const std::int64_t delay = std::int64_t{term.delay_minutes()} * 60;
  if (other.holds_nodes) return std::max(jobs_.now(), other.start_time + delay);
  const auto expected = start(other);
  if (!expected || expected->after_unlimited) return std::nullopt;
  return expected->start + delay;
}

std::optional<std::int64_t> Outlook::fulfilled(const OutlookJob& job, const Dependency& term) {
  if (term.type() == SINGLETON || term.type() == AFTER_BURST_BUFFER) return std::nullopt;
  if (term.type() == AFTER_CORR && job.several_tasks) return std::nullopt;
  if (term.has_array_task_id()) {
    const auto task = jobs_.task(term.job_id(), term.array_task_id());
    if (!task) return std::nullopt;
    return fulfilled_by(*task, term);
  }
  const auto records = term.whole_array() ? jobs_.array(term.job_id()) : std::nullopt;
  if (!records) {
    const auto other = jobs_.job(term.job_id());
    if (!other) return std::nullopt;
    return fulfilled_by(*other, term);
  }
  std::optional<std::int64_t> last;
  for (const std::uint32_t id : *records) {
    const auto task = jobs_.job(id);
    if (!task || task->ended) continue;
    const auto one = fulfilled_by(*task, term);
    if (!one) return std::nullopt;
    last = std::max(last.value_or(*one), *one);
  }
  return last;
}

}  // namespace minke::sched
