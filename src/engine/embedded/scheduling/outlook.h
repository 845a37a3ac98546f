// Outlook: when a job of this daemon is expected to become eligible, to start and to end, whatever it waits
// for (sched/outlook.h). State's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/forecast.h"
#include "sched/outlook.h"

namespace minke::engine {

struct Core;
struct Job;

// The jobs in memory, and forecasts for them.
class JobsInMemory final : public sched::OutlookJobs {
 public:
  JobsInMemory(Core& core, const sched::ForecastOptions& options) : core_(core), options_(options) {}

  static sched::OutlookJob describe(const Job& job);

  int64_t now() const override;
  std::optional<sched::OutlookJob> job(uint32_t id) const override;
  std::optional<sched::OutlookJob> task(uint32_t array_job_id, uint32_t index) const override;
  std::optional<std::vector<uint32_t>> array(uint32_t array_job_id) const override;
  int64_t begin_time(uint32_t id) const override;
  std::vector<model::Dependency> dependencies(uint32_t id) const override;
  std::optional<int64_t> expected_end(uint32_t id) const override;
  int64_t expected_seconds(uint32_t id) const override;
  std::optional<sched::ExpectedStart> forecast(uint32_t id) const override;
  std::optional<sched::ExpectedStart> forecast_later(uint32_t id, int64_t from) const override;

 private:
  Core& core_;
  const sched::ForecastOptions& options_;
};

class Outlook {
 public:
  static constexpr int kMostStarts = sched::Outlook::kMostStarts;
  // `options` must outlive it.
  Outlook(Core& core, const sched::ForecastOptions& options, int starts = kMostStarts)
      : jobs_(core, options), outlook_(jobs_, starts) {}
  Outlook(const Outlook&) = delete;
  Outlook& operator=(const Outlook&) = delete;

  std::optional<sched::ExpectedStart> start(const Job& job) {
    return outlook_.start(JobsInMemory::describe(job));
  }
  std::optional<int64_t> end(const Job& job) { return outlook_.end(JobsInMemory::describe(job)); }
  int starts_left() const { return outlook_.starts_left(); }

 private:
  JobsInMemory jobs_;
  sched::Outlook outlook_;
};

}  // namespace minke::engine
