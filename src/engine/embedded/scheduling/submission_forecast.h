// SubmissionForecast: when jobs that are not in the queue would start, if they were submitted now
// (sbatch --test-only, --immediate).
//
// A job is tried in each of its partitions, and by preempting others; the earliest start counts. A
// heterogeneous job is tried as a whole; the start is that of its first component. What the state is when a
// partition has its turn counts for that partition, and the moment of the question for all. State's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/embedded/state/job.h"
#include "sched/forecast.h"
#include "sched/placement.h"
#include "sched/request.h"

namespace minke::engine {

struct Core;

// How a job would enter the queue.
struct HypotheticalEntry {
  std::string partition;
  sched::Request request;
  uint64_t priority = 0;
  int64_t from = 0;  // s since the epoch
};

class SubmissionForecast {
 public:
  // At least one job. They have their charges and priorities. With `only_now` there is no start but one at
  // once.
  SubmissionForecast(Core& core, std::vector<std::unique_ptr<Job>> components, bool only_now = false);

  // A slice (forecast_slice.h). True: it is finished.
  bool go_on();
  // Nothing: nobody knows, or no node that could run it is available.
  struct Best {
    int64_t start = 0;  // s since the epoch
    bool after_unlimited = false;
    sched::NodeAllocations nodes;
  };
  const std::optional<Best>& best() const { return best_; }

 private:
  void begin();
  void consider_preemption();
  void consider(const sched::MachineLayout& layout, const sched::ExpectedStart& expected);

  Core& core_;
  const std::vector<std::unique_ptr<Job>> components_;
  const bool only_now_;
  const int64_t now_;
  std::vector<std::string> partitions_;
  size_t next_ = 0;                                  // of partitions_
  std::optional<sched::ForecastInPieces> forecast_;  // of that partition, under way
  std::optional<Best> best_;
};

}  // namespace minke::engine
