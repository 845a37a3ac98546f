// Outlook: when a job that waits for other jobs, for a time or for its array's throttle is expected to have
// its turn, and when one is expected to start and to end.
//
// Where a job waits for others, their own outlook is asked, so far as a chain is short: an Outlook makes a
// few forecasts and then knows nothing more. Make one for each question, or hand on what the one before has
// left. State's thread.
#pragma once

#include <cstdint>
#include <optional>

#include "sched/forecast.h"

namespace minke::model {
class Dependency;
}  // namespace minke::model

namespace minke::engine {

struct Core;
struct Job;

class Outlook {
 public:
  static constexpr int kMostForecasts = 12;
  Outlook(Core& core, const sched::ForecastOptions& options, int forecasts = kMostForecasts)
      : core_(core), options_(options), forecasts_left_(forecasts) {}

  // s since the epoch; nothing where nobody can say.
  std::optional<int64_t> eligible(const Job& job);
  std::optional<sched::ExpectedStart> start(const Job& job);
  std::optional<int64_t> end(const Job& job);
  int forecasts_left() const { return forecasts_left_; }

 private:
  std::optional<int64_t> fulfilled(const Job& job, const model::Dependency& term);
  std::optional<int64_t> all_fulfilled(const Job& job);

  Core& core_;
  const sched::ForecastOptions& options_;
  int forecasts_left_;
};

}  // namespace minke::engine
