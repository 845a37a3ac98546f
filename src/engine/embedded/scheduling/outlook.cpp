#include "engine/embedded/scheduling/outlook.h"

#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/forecast_slice.h"
#include "engine/embedded/scheduling/history.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/scheduling/world.h"

namespace minke::engine {

using namespace model;

JobsInMemory::JobsInMemory(Core& core, sched::ForecastOptions options, int forecasts)
    : core_(core), options_(std::move(options)), now_(core.now()), forecasts_left_(forecasts) {}

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

template <typename Begin>
std::optional<sched::ExpectedStart> JobsInMemory::known(const Question& question, const Begin& begin) const {
  if (const auto found = known_.find(question); found != known_.end()) return found->second;
  const Job* job = core_.state.find(question.first);
  if (job == nullptr || under_way_ || forecasts_left_ == 0) return std::nullopt;
  --forecasts_left_;
  if (auto forecast = begin(*job)) {
    under_way_.emplace(UnderWay{question, std::move(*forecast)});
  } else {
    known_.emplace(question, std::nullopt);
  }
  return std::nullopt;
}

std::optional<sched::ExpectedStart> JobsInMemory::forecast(uint32_t id) const {
  return known({id, kQueued}, [&](const Job& job) { return core_.world->forecast(job, now_, options_); });
}

std::optional<sched::ExpectedStart> JobsInMemory::forecast_later(uint32_t id, int64_t from) const {
  return known({id, from},
               [&](const Job& job) { return core_.scheduling->forecast_later(job, from, now_, options_); });
}

void JobsInMemory::go_on() {
  if (!under_way_ || !go_on_for_a_slice(under_way_->forecast)) return;
  auto expected = under_way_->forecast.start();
  // Nodes have other numbers since.
  if (expected && &under_way_->forecast.layout() != &core_.world->machine().layout())
    expected->placement = {};
  known_.emplace(under_way_->question, std::move(expected));
  under_way_.reset();
}

template <typename Question>
auto Outlook::ask(const Question& question) -> decltype(question(std::declval<sched::Outlook&>())) {
  again_ = jobs_.unfinished();
  if (again_) {
    jobs_.go_on();
    return std::nullopt;
  }
  sched::Outlook outlook(jobs_, starts_left_);
  auto answer = question(outlook);
  if (jobs_.unfinished()) return std::nullopt;
  starts_left_ = outlook.starts_left();
  return answer;
}

std::optional<sched::ExpectedStart> Outlook::start(const Job& job) {
  return ask([&](sched::Outlook& outlook) { return outlook.start(JobsInMemory::describe(job)); });
}

std::optional<int64_t> Outlook::end(const Job& job) {
  return ask([&](sched::Outlook& outlook) { return outlook.end(JobsInMemory::describe(job)); });
}

}  // namespace minke::engine
