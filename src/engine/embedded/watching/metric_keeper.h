// Has the metrics of jobs put into their accounting records when they end, by a process of its own
// (`minke keep-metrics`), which reads their owners' files with their owners' rights.
//
// Of jobs that ran for a while only: looking into a directory costs more than a short job does; `minke jobs`
// looks for what is missing. One process at a time, for all jobs that ended meanwhile. What is lost with the
// daemon is found by `minke jobs`, too. The state's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "engine/embedded/state/job.h"
#include "os/event_loop.h"
#include "os/fd.h"

namespace minke::engine {

struct Core;

class MetricKeeper {
 public:
  explicit MetricKeeper(Core& core);

  void job_ended(const Job& job);

 private:
  void start();

  Core& core_;
  std::deque<uint32_t> waiting_;
  std::unique_ptr<os::EventLoop::Timer> timer_;
  os::UniqueFd output_;  // of the process; closed: none runs
  std::unique_ptr<os::EventLoop::Watch> watch_;
};

}  // namespace minke::engine
