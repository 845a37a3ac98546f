// History: how long jobs ran and waited, which forecasts of starts are based on.
//
// At start, the run times of recent jobs by user (sched/beliefs.h) are read from the store: those of the last
// thousand job ids, so that the cost does not depend on the number of ended jobs. The accuracy of forecasts
// (sched/wait_ranges.h) is learned under this daemon: some of the jobs that must wait get a forecast after
// their submission, within a twentieth of the time. State's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
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

  void load();  // asynchronous; until it is done, forecasts use the time limits
  void run_ended(Job& job) override;
  void job_started(Job& job, Start start) override;  // compares with its forecast
  void queued(const Job& job) { newest_ = job_of(job); }
  void job_left_queue(Job& job) override { forgotten(job); }
  void forgotten(const Job& job);  // the job must wait for something else first
  // Call it after a pass. Forecasts the start of the last submitted job if there is time for it, in slices.
  void after_pass();

  // The expected times of all running and waiting jobs. Valid until the state changes.
  sched::ForecastOptions beliefs() const;
  int64_t expected_end(const Job& job) const;  // of a running job; s since the epoch
  // False if the job has no time limit and no earlier run says anything about it. Its expected end
  // then serves only for planning.
  bool knows_end(const Job& job) const;
  // For a waiting job: its expected run time in s.
  int64_t expected_seconds(const Job& job, const sched::Request& request) const;
  sched::WaitRanges::Range range(int64_t wait) const { return ranges_.range(wait); }
  uint32_t judged() const { return judged_; }
  uint32_t runs_of(uint32_t uid) const { return beliefs_.runs_of(uid); }
  uint32_t runs() const { return beliefs_.runs(); }

 private:
  static uint32_t job_of(const Job& job);
  void learn_some(std::chrono::steady_clock::time_point begin);

  Core& core_;
  sched::Beliefs beliefs_;
  sched::WaitRanges ranges_;
  uint32_t judged_ = 0;
  uint32_t newest_ = 0;                              // the last queued job without a forecast; 0: none
  std::unordered_map<uint32_t, int64_t> forecasts_;  // by job: its expected start
  std::chrono::steady_clock::time_point rest_until_{};
  struct Learning {
    uint32_t job = 0;
    sched::ForecastInPieces forecast;
  };
  std::optional<Learning> learning_;  // under way
};

}  // namespace minke::engine
