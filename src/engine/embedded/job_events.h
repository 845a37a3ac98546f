// What happens to jobs, told to all who keep something of them: accounts, history, mail, triggers, measuring,
// quotas, reservations, those who wait, dependencies, and scheduling, which is told last.
// engine/embedded/life_cycle/lifecycle.h tells, and knows none of them. What may keep a job from starting
// (quotas, shortages, dependencies) tells when it does so no more, or does now.
//
// Invariants: every change of `Job::state` tells its event, whoever caused it, a recovery too. A job is told
// as started once a run, as freed once a run, as ended once. Listeners are told in the order in which they
// were added; none of them changes the job's state while it is being told. State's thread.
#pragma once

#include <cstdint>

#include "engine/embedded/events.h"
#include "engine/embedded/state/job.h"

namespace minke::engine {

class JobListener {
 public:
  // kAdopted: an earlier daemon started it, and was killed before that was durable.
  enum class Start { kFresh, kAdopted };

  virtual ~JobListener() = default;

  // It runs: its resources are booked; prologs may still hold it back.
  virtual void job_started(Job&, Start) {}
  // Nothing holds it back any more: its script runs, or its owner has it.
  virtual void job_launched(Job&) {}
  // Its run is over, and its nodes are free again; the record still shows it running. `end_time`: s since the
  // epoch.
  virtual void job_freed(Job&, int64_t /*end_time*/) {}
  // After job_freed, unless the run is to count as none: the record says how the run ended.
  virtual void run_ended(Job&) {}
  // It ended, or is to wait for something else first, and has never run.
  virtual void job_left_queue(Job&) {}
  // It is going to wait again after its run; the record still says how that one ended.
  virtual void job_requeued(Job&) {}
  // It waits again, after a run or instead of one.
  virtual void job_waits_again(Job&) {}
  // It is stopped, and lends its processors; it has gone on.
  virtual void job_suspended(Job&) {}
  virtual void job_resumed(Job&) {}
  // A waiting job's: what kept it from starting may be over, or something keeps it now.
  virtual void obstacle_changed(Job&) {}
  // One task fewer of the array runs.
  virtual void array_task_over(uint32_t /*array_job_id*/) {}
  // It has ended for good. `ran`: its last state was not that of a waiting one.
  virtual void job_ended(Job&, bool /*ran*/) {}

  // When something is to be done for a running job before its time limit (s since the epoch; 0: nothing), and
  // then.
  virtual int64_t next_mark(const Job&) const { return 0; }
  virtual void mark_reached(Job&) {}
  // A waiting job's next time has come: what it waits for may have come true.
  virtual void job_due(Job&) {}
};

class JobEvents : public Events<JobListener> {
 public:
  // The earliest of all listeners.
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
