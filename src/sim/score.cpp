#include "sim/score.h"

#include <cstdlib>

namespace minke::sim {

std::int64_t Forecaster::believed(std::uint32_t job, std::int64_t elapsed) const {
  const TraceJob& one = jobs_[job];
  if (belief_ == Belief::kLimits) return one.asks;
  return run_times_.expected(one.user, one.asks, one.processors, elapsed);
}

void Forecaster::submitted(std::uint32_t job, const sched::Machine& machine, const sched::PendingQueue& queue,
                           const sched::RunningSet& running, std::int64_t now,
                           const sched::PassOptions& policy) {
  sched::ForecastOptions options;
  options.pass = policy;
  options.believed_end = [&](sched::RunKey key) {
    const auto other = static_cast<std::uint32_t>(key);
    return seen_[other].start + believed(other, now - seen_[other].start);
  };
  options.believed_seconds = [&](sched::EntryId entry) {
    return believed(static_cast<std::uint32_t>(entry), 0);
  };
  const auto expected = sched::forecast_entry(machine, queue, running, job, now, options);
  if (!expected) {
    ++score_.unforeseen;
    return;
  }
  seen_[job].forecast = expected->start - now;
  seen_[job].range = ranges_.range(seen_[job].forecast);
}

void Forecaster::started(std::uint32_t job, std::int64_t now) {
  Seen& seen = seen_[job];
  seen.start = now;
  if (seen.forecast < 0) return;
  const std::int64_t wait = now - jobs_[job].submit;
  ++score_.jobs;
  score_.error += static_cast<double>(std::llabs(seen.forecast - wait));
  score_.wait += static_cast<double>(wait);
  if (wait == 0) return;
  ++score_.waited;
  score_.within += seen.range.least <= wait && wait <= seen.range.most;
  ranges_.started(seen.forecast, wait);
}

void Forecaster::ended(std::uint32_t job) {
  run_times_.ended(jobs_[job].user, {jobs_[job].asks, jobs_[job].runs, jobs_[job].processors});
}

}  // namespace minke::sim
