// MetricKeeper: copies the training metrics of ended jobs into their accounting records. A separate process
// (`minke keep-metrics`) reads the owners' files with the owners' rights.
//
// It skips short jobs, because looking into a directory costs more than they do; `minke jobs` finds what is
// missing. One process at a time serves all jobs that have ended meanwhile. `minke jobs` also finds what is
// lost with the daemon. State's thread.
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
