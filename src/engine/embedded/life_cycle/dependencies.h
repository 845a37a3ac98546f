// Jobs that wait for other jobs.
//
// A job's terms are fulfilled one by one as the jobs they name begin or end; when they are (all of them, or
// one with "?"), the job becomes eligible. A term that can never be fulfilled leaves the job waiting with
// DependencyNeverSatisfied, or cancels it (--kill-on-invalid-dep=yes). A term on an array means all its
// tasks. An array whose tasks wait each for the task of the same index (aftercorr) gives each of them a
// record of its own once that other task has ended.
//
// A change of one job is told only to the terms that it can settle, and never costs others their turn: whom
// it concerns is put into a line, and the line is worked off some milliseconds at a time. State's thread.
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

  // Marks those on jobs that nobody knows, or that this user must not know of, as fulfilled. Errors:
  // ESLURM_DEPENDENCY for job 0, and for too many.
  Status check(model::JobSpec& spec, uint32_t uid) const;
  // Of new terms for a job: not on itself, nor, however indirectly, on what waits for it.
  Status check_circle(const Job& job, const model::JobSpec& spec) const;
  // A job has just been submitted, updated or loaded, or taken from its array: takes over its terms.
  void watch(Job& job);
  // It waits no more, or for something else.
  void forget(const Job& job);
  // Its name is another now.
  void renamed(const Job& job, std::string_view before);
  // Whether a user's jobs may have so many terms more (Budget::kDependencies).
  Status admits_terms(uint32_t uid, size_t terms) const;
  bool fulfilled(const Job& job) const;
  bool never(const Job& job) const;
  void job_started(Job& job, Start start) override;
  void job_ended(Job& job, bool ran) override;
  void job_due(Job& job) override { look_again(job.id); }

 private:
  void look_again(uint32_t job_id);  // at the terms of a job that are not fulfilled yet
  // What a term waits for: a job or a whole array, or one task of an array.
  using Key = uint64_t;
  static Key key_of(const model::Dependency& term, const Job& job);
  struct Look {
    uint32_t job_id = 0;
    uint32_t about = 0;       // job or array that the terms name; 0: all terms
    uint32_t task = kNoTask;  // of an array whose tasks correspond to those of `about`: this one
  };

  // Of an array's tasks that wait, from index `from` on, splits off those whose counterparts have ended; some
  // hundred at a time, the rest in later turns of the loop.
  void release_corresponding(uint32_t array_job_id, uint32_t from);
  // One of them. `other`: the array that its counterpart belongs to. False where that has not ended.
  bool release_task(Job& array, uint32_t index, uint32_t other);
  model::DependencyStatus evaluate(const model::Dependency& term, const Job& job) const;
  model::DependencyStatus evaluate_start(const model::Dependency& term, const Job& job,
                                         const Job& other) const;
  model::DependencyStatus evaluate_job(const model::Dependency& term, const Job& job, const Job& other) const;
  model::DependencyStatus evaluate_task(const model::Dependency& term, const Job& job, uint32_t index) const;
  model::DependencyStatus evaluate_stored(const model::Dependency& term, const Job& job) const;
  model::DependencyStatus evaluate_array(const model::Dependency& term, const Job& job,
                                         const ArrayGroup& group) const;
  bool all_over(const ArrayGroup& group) const;
  void look_at(uint32_t job_id, uint32_t about);
  void settled(Job& job);  // one of its terms
  void tell(Key key, uint32_t about);
  void tell_of_task(const Job& job, const ArrayGroup& group);  // one of an array that has ended
  void work_off();

  Core& core_;
  mutable Namesakes namesakes_;
  std::map<Key, std::set<uint32_t>> waiting_;  // who waits
  std::unordered_map<uint32_t, std::set<uint32_t>>
      corresponding_;                                      // arrays whose tasks wait for this array's
  std::unordered_map<uint32_t, Budgets::Charge> watched_;  // by job
  std::deque<Look> looks_;
  bool working_ = false;
  bool posted_ = false;
};

}  // namespace minke::engine
