// The process that serves /metrics (`[metrics]`): started, and started anew some time after it has ended. It
// ends when the daemon does, for its input is closed then. State's thread.
#pragma once

#include <memory>

#include "os/event_loop.h"
#include "os/fd.h"

namespace minke::engine {

struct Core;

class MetricsProcess {
 public:
  explicit MetricsProcess(Core& core) : core_(core) {}
  void start();  // nothing where the configuration names no address

 private:
  Core& core_;
  os::UniqueFd lifeline_, output_;  // `output` is closed when it ends
  std::unique_ptr<os::EventLoop::Watch> watch_;
  std::unique_ptr<os::EventLoop::Timer> timer_;
};

}  // namespace minke::engine
