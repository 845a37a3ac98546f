#include "engine/embedded/scheduling/outlook.h"

#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/history.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/scheduling/world.h"

namespace minke::engine {

using namespace model;

sched::OutlookJob JobsInMemory::describe(const Job& job) {
  return {.id = job.id,
          .array_job_id = job.array_job_id,
          .priority = job.priority,
          .reason = job.reason,
          .queued = job.queued,
          .holds_nodes = job.holds_nodes(),
          .ended = job.ended(),
          .several_tasks = job.is_array_record(),
          .component = job.het_job_id != 0,
          .no_limit = job.time_limit_minutes == kUnlimited,
          .any_dependency = job.submission->any_dependency,
          .eligible_time = job.eligible_time,
          .start_time = job.start_time};
}

int64_t JobsInMemory::now() const {
  return core_.now();
}

std::optional<sched::OutlookJob> JobsInMemory::job(uint32_t id) const {
  const Job* job = core_.state.find(id);
  if (job == nullptr) return std::nullopt;
  return describe(*job);
}

std::optional<sched::OutlookJob> JobsInMemory::task(uint32_t array_job_id, uint32_t index) const {
  const Job* job = core_.state.find_task(array_job_id, index);
  if (job == nullptr) return std::nullopt;
  return describe(*job);
}

std::optional<std::vector<uint32_t>> JobsInMemory::array(uint32_t array_job_id) const {
  const ArrayGroup* group = core_.state.find_array(array_job_id);
  if (group == nullptr) return std::nullopt;
  return std::vector<uint32_t>(group->jobs.begin(), group->jobs.end());
}

int64_t JobsInMemory::begin_time(uint32_t id) const {
  const Job* job = core_.state.find(id);
  return job == nullptr ? 0 : job->submission->brief_spec().begin_time;
}

std::vector<Dependency> JobsInMemory::dependencies(uint32_t id) const {
  const Job* job = core_.state.find(id);
  return job == nullptr || !job->details ? std::vector<Dependency>() : job->details->dependencies;
}

std::optional<int64_t> JobsInMemory::expected_end(uint32_t id) const {
  const Job* job = core_.state.find(id);
  if (job == nullptr || !core_.history->knows_end(*job)) return std::nullopt;
  return core_.history->expected_end(*job);
}

int64_t JobsInMemory::expected_seconds(uint32_t id) const {
  const Job* job = core_.state.find(id);
  return job == nullptr ? sched::kUnlimitedSeconds : core_.scheduling->expected_seconds(*job);
}

std::optional<sched::ExpectedStart> JobsInMemory::forecast(uint32_t id) const {
  const Job* job = core_.state.find(id);
  if (job == nullptr) return std::nullopt;
  return core_.world->forecast(*job, core_.now(), options_);
}

std::optional<sched::ExpectedStart> JobsInMemory::forecast_later(uint32_t id, int64_t from) const {
  const Job* job = core_.state.find(id);
  if (job == nullptr) return std::nullopt;
  return core_.scheduling->forecast_later(*job, from, options_);
}

}  // namespace minke::engine
