// Jobs that wait for other jobs.
//
// A job's terms are fulfilled one by one as the jobs they name begin or end; when they are (all of them, or
// one with "?"), the job becomes eligible. A term that can never be fulfilled leaves the job waiting with
// DependencyNeverSatisfied, or cancels it (--kill-on-invalid-dep=yes). A term on an array means all its
// tasks. State's thread.
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

  // Errors: ESLURM_DEPENDENCY for a job that was never there.
  Status check(const model::JobSpec& spec) const;
  // Takes over the terms of a job that has just been submitted, updated or loaded.
  void watch(Job& job);
  bool fulfilled(const Job& job) const;
  bool never(const Job& job) const;
  // Another job began, or ended.
  void started(const Job& job);
  void ended(const Job& job);
  void look_again(uint32_t job_id);  // at the terms of a job that are not fulfilled yet

 private:
  model::DependencyStatus evaluate(const model::Dependency& term, const Job& job) const;
  void notify(uint32_t job_id, uint32_t array_job_id);

  Core& core_;
  std::unordered_map<uint32_t, std::unordered_set<uint32_t>> waiting_for_;  // job or array id -> who waits
  std::unordered_set<uint32_t> singletons_;
};

}  // namespace minke::engine
