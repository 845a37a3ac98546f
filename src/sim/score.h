// Measures the quality of forecasts: at each submission of a replay the start is forecast from what was known
// then; afterwards the forecasts are compared with the actual starts.
//
// A forecast runs the scheduler forward (sched/forecast.h), with the run times that history suggests
// (sched/run_times.h), and states a range for the wait (sched/wait_ranges.h). Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/forecast.h"
#include "sched/run_times.h"
#include "sched/wait_ranges.h"
#include "sim/trace.h"

namespace minke::sim {

enum class Belief : std::uint8_t { kHistory, kLimits };  // kLimits: every job uses up its time limit

struct ForecastScore {
  std::uint64_t jobs = 0;        // forecast
  std::uint64_t unforeseen = 0;  // no forecast within its bounds
  std::uint64_t waited = 0;
  std::uint64_t within = 0;  // of those that waited, in the stated range
  double error = 0;          // s, absolute, summed
  double wait = 0;           // s, summed
  double mean_error() const { return jobs == 0 ? 0 : error / static_cast<double>(jobs); }
  double error_by_wait() const { return wait == 0 ? 0 : error / wait; }
  double coverage() const {
    return waited == 0 ? 0 : static_cast<double>(within) / static_cast<double>(waited);
  }
};

// Follows a replay. A job's index is its name, its EntryId and its RunKey.
class Forecaster {
 public:
  Forecaster(const std::vector<TraceJob>& jobs, Belief belief)
      : jobs_(jobs), belief_(belief), seen_(jobs.size()) {}

  // Call it when the job has entered the queue, before any other decision.
  void submitted(std::uint32_t job, const sched::Machine& machine, const sched::PendingQueue& queue,
                 const sched::RunningSet& running, std::int64_t now, const sched::PassOptions& policy);
  void started(std::uint32_t job, std::int64_t now);
  void ended(std::uint32_t job);
  const ForecastScore& score() const { return score_; }

 private:
  struct Seen {
    std::int64_t forecast = -1;  // s of waiting; -1: none
    sched::WaitRanges::Range range;
    std::int64_t start = 0;
  };
  std::int64_t believed(std::uint32_t job, std::int64_t elapsed) const;

  const std::vector<TraceJob>& jobs_;
  Belief belief_;
  std::vector<Seen> seen_;
  sched::RunTimes run_times_;
  sched::WaitRanges ranges_;
  ForecastScore score_;
};

}  // namespace minke::sim
