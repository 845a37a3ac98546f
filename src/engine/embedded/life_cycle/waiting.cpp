#include "engine/embedded/life_cycle/waiting.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/embedded/core.h"
#include "engine/embedded/state/job.h"
#include "model/job_record.pb.h"

namespace minke::engine {

void Waiting::tell(Waiters& waiters, uint32_t job_id, const Record& record) {
  const auto [begin, end] = waiters.equal_range(job_id);
  std::vector<Tell> told;
  for (auto waiter = begin; waiter != end; ++waiter) told.push_back(std::move(waiter->second.tell));
  waiters.erase(begin, end);
  for (const Tell& waiter : told) waiter(record);
}

void Waiting::for_start(uint32_t job_id, Tell tell, const void* whose) {
  starts_.emplace(job_id, Waiter{std::move(tell), whose});
}

void Waiting::forget(uint32_t job_id, const void* whose) {
  for (Waiters* waiters : {&starts_, &ends_}) {
    for (auto [at, end] = waiters->equal_range(job_id); at != end;)
      at = at->second.whose == whose ? waiters->erase(at) : std::next(at);
  }
  if (!ends_.contains(job_id)) highest_exit_.erase(job_id);
}

void Waiting::for_end(uint32_t job_id, Tell tell, const void* whose) {
  // Tasks may have ended between the submission and this call.
  if (const ArrayGroup* group = core_.state.find_array(job_id))
    highest_exit_[job_id] = std::max(highest_exit_[job_id], group->highest_exit);
  ends_.emplace(job_id, Waiter{std::move(tell), whose});
}

Waiting::Record Waiting::record_of(const Job& job) const {
  auto record = std::make_shared<model::JobRecord>(core_.state.record_of(job));
  *record->mutable_spec() = job.submission->spec();
  return record;
}

bool Waiting::array_is_over(uint32_t array_job_id) const {
  const ArrayGroup* group = core_.state.find_array(array_job_id);
  return group == nullptr || std::all_of(group->jobs.begin(), group->jobs.end(), [&](uint32_t id) {
           return core_.state.find(id)->ended() && !core_.state.find(id)->completing;
         });
}

void Waiting::job_launched(Job& job) {
  if (!starts_.contains(job.id)) return;
  core_.committer.when_durable([this, id = job.id, record = record_of(job)] { tell(starts_, id, record); });
}

void Waiting::job_ended(Job& job, bool) {
  const uint32_t array = job.array_job_id;
  if (array != 0 && ends_.contains(array)) {
    int32_t& highest = highest_exit_[array];
    highest = std::max(highest, job.own_exit_code());
  }
  const bool array_over = array != 0 && array_is_over(array);
  const bool own = array == 0 || job.id != array || array_over;
  if (!(own && (ends_.contains(job.id) || starts_.contains(job.id))) &&
      !(array_over && ends_.contains(array)))
    return;
  core_.committer.when_durable(
      [this, id = job.id, own, array = array_over ? array : 0, record = record_of(job)] {
        if (own && id != array) {
          tell(starts_, id, record);
          tell(ends_, id, record);
        }
        if (array == 0) return;
        const auto of_array = std::make_shared<model::JobRecord>(*record);
        if (const auto highest = highest_exit_.find(array); highest != highest_exit_.end()) {
          of_array->set_exit_code(highest->second);
          highest_exit_.erase(highest);
        }
        tell(starts_, array, of_array);
        tell(ends_, array, of_array);
      });
}

}  // namespace minke::engine
