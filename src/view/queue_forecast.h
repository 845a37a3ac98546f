// What the cluster will hold in the next hours: by running jobs until their limits, and by waiting jobs from
// their expected starts on. Pure; one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "view/held_over_time.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::view {

class QueueForecast {
 public:
  explicit QueueForecast(int64_t now) : now_(now) {}

  // A job that runs, or waits with its expected start (0: none is known). One without a limit holds what it
  // has for ever. `gpus`: of all its nodes. Of an array's waiting tasks the first one counts.
  void add(const model::JobRecord& job, uint64_t gpus);

  uint64_t running() const { return running_; }
  uint64_t forecast() const { return forecast_; }  // that wait, and have an expected start
  uint64_t unknown() const { return unknown_; }    // that wait without one
  int64_t last_start() const { return last_start_; }
  std::vector<HeldOverTime::Step> steps(int64_t until) const { return held_.steps(now_, until, 500); }

 private:
  const int64_t now_;
  uint64_t running_ = 0, forecast_ = 0, unknown_ = 0;
  int64_t last_start_ = 0;
  HeldOverTime held_;
};

}  // namespace minke::view
