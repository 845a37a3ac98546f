// JobListener: events of jobs, for the parts that keep something about jobs: accounts, history, mail,
// triggers, measuring, quotas, reservations, waiting clients, dependencies, and last scheduling. Lifecycle
// sends them and knows none of its listeners. Quotas, shortages and dependencies also send obstacle_changed
// when they start or cease to keep a job from starting.
//
// Invariants: every change of `Job::state` sends its event, whatever caused it, recovery included. A job gets
// job_started once per run, job_freed once per run, and job_ended once. Listeners are called in the order in
// which they were added; none of them changes the job's state during the call. State's thread.
#pragma once

#include <cstdint>

#include "engine/embedded/events.h"
#include "engine/embedded/state/job.h"

namespace minke::engine {

class JobListener {
 public:
  // kAdopted: an earlier daemon started the job, and was killed before the start was durable.
  enum class Start { kFresh, kAdopted };

  virtual ~JobListener() = default;

  // The job runs: its resources are booked. Prologs may still delay its script.
  virtual void job_started(Job&, Start) {}
  // Nothing delays the job any more: its script runs, or its owner has the allocation.
  virtual void job_launched(Job&) {}
  // The run is over and its nodes are free again. The record still says that it runs.
  // `end_time`: s since the epoch.
  virtual void job_freed(Job&, int64_t /*end_time*/) {}
  // After job_freed, unless the run does not count. The record says how the run ended.
  virtual void run_ended(Job&) {}
  // The job ended, or must wait for something else first, without having run.
  virtual void job_left_queue(Job&) {}
  // The job will wait again after its run. The record still says how the run ended.
  virtual void job_requeued(Job&) {}
  // The job waits again, after a run or instead of one.
  virtual void job_waits_again(Job&) {}
  // The job was suspended and lends its processors, or was resumed.
  virtual void job_suspended(Job&) {}
  virtual void job_resumed(Job&) {}
  // An obstacle to the start of a waiting job may have gone, or a new one has come.
  virtual void obstacle_changed(Job&) {}
  // One running task fewer in the array.
  virtual void array_task_over(uint32_t /*array_job_id*/) {}
  // The job has ended for good. `ran`: it was not pending before.
  virtual void job_ended(Job&, bool /*ran*/) {}

  // The time (s since the epoch; 0: none) before the job's time limit at which the listener must
  // act, and the call at that time.
  virtual int64_t next_mark(const Job&) const { return 0; }
  virtual void mark_reached(Job&) {}
  // When a job whose run is over is to run again by itself (s since the epoch); 0: it is not.
  virtual int64_t next_run(const Job&) const { return 0; }
  // The next time of a waiting job has come: something that it waits for may have happened.
  virtual void job_due(Job&) {}
};

class JobEvents : public Events<JobListener> {
 public:
  // The first answer of a listener.
  int64_t next_run(const Job& job) const {
    for (const JobListener* one : listeners_)
      if (const int64_t time = one->next_run(job); time != 0) return time;
    return 0;
  }
  // The earliest mark of all listeners.
  int64_t next_mark(const Job& job) const {
    int64_t next = 0;
    for (const JobListener* one : listeners_) {
      const int64_t mark = one->next_mark(job);
      if (mark != 0 && (next == 0 || mark < next)) next = mark;
    }
    return next;
  }
};

}  // namespace minke::engine
