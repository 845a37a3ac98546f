// History: how long jobs ran and how long they waited, as forecasts of starts go by it.
//
// The run times of the last jobs, by user (sched/beliefs.h), are taken from the store at start: of the last
// thousand job ids, so that it costs the same however many have ended. How well forecasts came true
// (sched/wait_ranges.h) is known of those made under this daemon: of a job that must wait now and then one is
// made when it has been submitted, within a twentieth of the time. State's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <unordered_map>

#include "engine/embedded/job_events.h"
#include "sched/beliefs.h"
#include "sched/forecast.h"
#include "sched/wait_ranges.h"

namespace minke::engine {

struct Core;
struct Job;

class History : public JobListener {
 public:
  explicit History(Core& core) : core_(core) {}

  void load();  // posts; forecasts made before it is done trust the time limits
  void run_ended(Job& job) override;
  void job_started(Job& job, Start start) override;  // compares with what was forecast
  void queued(const Job& job) { newest_ = job_of(job); }
  void job_left_queue(Job& job) override { forgotten(job); }
  void forgotten(const Job& job);  // it waits for something else first
  // After a pass: forecasts the start of the job that came last, if there is time for it.
  void after_pass();

  // What is believed of all that runs and waits now. Valid until the state changes.
  sched::ForecastOptions beliefs() const;
  int64_t expected_end(const Job& job) const;  // of a job that runs; s since the epoch
  // False of a job without a time limit that no earlier run tells anything of: its expected end is only what
  // the scheduler plans with.
  bool knows_end(const Job& job) const;
  // Of one that waits, from its start on.
  int64_t expected_seconds(const Job& job, const sched::Request& request) const;
  sched::WaitRanges::Range range(int64_t wait) const { return ranges_.range(wait); }
  uint32_t judged() const { return judged_; }
  uint32_t runs_of(uint32_t uid) const { return beliefs_.runs_of(uid); }
  uint32_t runs() const { return beliefs_.runs(); }

 private:
  static uint32_t job_of(const Job& job);

  Core& core_;
  sched::Beliefs beliefs_;
  sched::WaitRanges ranges_;
  uint32_t judged_ = 0;
  uint32_t newest_ = 0;                              // queued last, no forecast yet; 0: none
  std::unordered_map<uint32_t, int64_t> forecasts_;  // by job: of its start
  std::chrono::steady_clock::time_point rest_until_{};
};

}  // namespace minke::engine
