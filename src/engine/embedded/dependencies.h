// Jobs that wait for other jobs.
//
// A job's terms are fulfilled one by one as the jobs they name begin or end; when they are (all of them, or
// one with "?"), the job becomes eligible. A term that can never be fulfilled leaves the job waiting with
// DependencyNeverSatisfied, or cancels it (--kill-on-invalid-dep=yes). A term on an array means all its
// tasks. An array whose tasks wait each for the task of the same index (aftercorr) gives each of them a
// record of its own once that other task has ended. State's thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "base/result.h"
#include "engine/embedded/job.h"

namespace minke::engine {

struct Core;

class Dependencies {
 public:
  explicit Dependencies(Core& core) : core_(core) {}

  // Marks those on jobs that nobody knows as fulfilled. Errors: ESLURM_DEPENDENCY for job 0.
  Status check(model::JobSpec& spec) const;
  // Of new terms for a job: not on itself, nor, however indirectly, on what waits for it.
  Status check_circle(const Job& job, const model::JobSpec& spec) const;
  // Takes over the terms of a job that has just been submitted, updated or loaded.
  void watch(Job& job);
  bool fulfilled(const Job& job) const;
  bool never(const Job& job) const;
  // Another job began, or ended.
  void started(const Job& job);
  void ended(const Job& job);
  void look_again(uint32_t job_id);  // at the terms of a job that are not fulfilled yet

 private:
  // Of an array's tasks that wait, from index `from` on, splits off those whose counterparts have ended; some
  // hundred at a time, the rest in later turns of the loop.
  void release_corresponding(uint32_t array_job_id, uint32_t from);
  // One of them. `other`: the array that its counterpart belongs to. False where that has not ended.
  bool release_task(Job& array, uint32_t index, uint32_t other);
  model::DependencyStatus evaluate(const model::Dependency& term, const Job& job) const;
  void notify(uint32_t job_id, uint32_t array_job_id);

  Core& core_;
  std::unordered_map<uint32_t, std::unordered_set<uint32_t>> waiting_for_;  // job or array id -> who waits
  std::unordered_set<uint32_t> singletons_;
};

}  // namespace minke::engine
