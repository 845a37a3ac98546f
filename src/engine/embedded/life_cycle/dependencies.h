// Dependencies: jobs that wait for other jobs.
//
// A job's terms are fulfilled one by one as the jobs that they name start or end. When all are fulfilled
// (with "?": one of them), the job becomes eligible. A term that can never be fulfilled leaves the job
// waiting with DependencyNeverSatisfied, or cancels it (--kill-on-invalid-dep=yes). A term on an array covers
// all its tasks. With aftercorr each task of an array waits for the task with the same index, and gets its
// own record once that task has ended.
//
// A change of one job reaches only the terms that it can settle, and never delays other work: the jobs
// concerned are put in a line, which is processed a few milliseconds at a time. State's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "engine/embedded/job_events.h"
#include "engine/embedded/life_cycle/namesakes.h"
#include "engine/embedded/server/budgets.h"

namespace minke::model {
class Dependency;
enum DependencyStatus : int;
class JobSpec;
}  // namespace minke::model

namespace minke::engine {

struct ArrayGroup;
struct Core;

class Dependencies : public JobListener {
 public:
  explicit Dependencies(Core& core);

  // Marks terms on jobs that do not exist, or that this user must not know of, as fulfilled. Errors:
  // ESLURM_DEPENDENCY for job 0 and for too many terms.
  Status check(model::JobSpec& spec, uint32_t uid) const;
  // Refuses new terms with which the job would wait for itself, directly or through other jobs.
  Status check_circle(const Job& job, const model::JobSpec& spec) const;
  // Starts to watch the terms of a job that was just submitted, updated, loaded, or split off its array.
  void watch(Job& job);
  // The job waits no more, or its terms have changed.
  void forget(const Job& job);
  // The job has a new name.
  void renamed(const Job& job, std::string_view before);
  // Whether the user's jobs may have `terms` more terms (Budget::kDependencies).
  Status admits_terms(uint32_t uid, size_t terms) const;
  bool fulfilled(const Job& job) const;
  bool never(const Job& job) const;
  void job_started(Job& job, Start start) override;
  void job_ended(Job& job, bool ran) override;
  void job_due(Job& job) override { look_again(job.id); }

 private:
  void look_again(uint32_t job_id);  // at the unfulfilled terms of a job
  // What a term waits for: a job, a whole array, or one task of an array.
  using Key = uint64_t;
  static Key key_of(const model::Dependency& term, const Job& job);
  struct Look {
    uint32_t job_id = 0;
    uint32_t about = 0;       // the job or array that the terms name; 0: all terms
    uint32_t task = kNoTask;  // only this task, of an array whose tasks correspond to `about`'s
  };

  // Splits off the waiting tasks from index `from` on whose counterparts have ended: some hundred at a time,
  // the rest in later turns of the loop.
  void release_corresponding(uint32_t array_job_id, uint32_t from);
  // Splits off one of them. `other`: the array of its counterpart. False: the counterpart has not ended.
  bool release_task(Job& array, uint32_t index, uint32_t other);
  model::DependencyStatus evaluate(const model::Dependency& term, const Job& job) const;
  model::DependencyStatus evaluate_start(const model::Dependency& term, const Job& job,
                                         const Job& other) const;
  model::DependencyStatus evaluate_job(const model::Dependency& term, const Job& job, const Job& other) const;
  bool lacks_task(const model::Dependency& term) const;  // names a task that the array never had
  model::DependencyStatus evaluate_task(const model::Dependency& term, const Job& job, uint32_t index) const;
  model::DependencyStatus evaluate_stored(const model::Dependency& term, const Job& job) const;
  model::DependencyStatus evaluate_array(const model::Dependency& term, const Job& job,
                                         const ArrayGroup& group) const;
  bool all_over(const ArrayGroup& group) const;
  void look_at(uint32_t job_id, uint32_t about);
  void settled(Job& job);  // one of its terms was settled
  void tell(Key key, uint32_t about);
  void tell_of_task(const Job& job, const ArrayGroup& group);  // after the end of one task of an array
  void work_off();

  Core& core_;
  mutable Namesakes namesakes_;
  std::map<Key, std::set<uint32_t>> waiting_;  // ids of the waiting jobs
  std::unordered_map<uint32_t, std::set<uint32_t>>
      corresponding_;                                      // arrays whose tasks wait for this array's
  std::unordered_map<uint32_t, Budgets::Charge> watched_;  // by job
  std::deque<Look> looks_;
  bool working_ = false;
  bool posted_ = false;
};

}  // namespace minke::engine
