// MetricsProcess: runs the process that serves /metrics (`[metrics]`) and restarts it some time after it
// ends. It ends with the daemon, because its input is closed then. State's thread.
#pragma once

#include <memory>
#include <string>

#include "os/event_loop.h"
#include "os/fd.h"

namespace minke::engine {

struct Core;

class MetricsProcess {
 public:
  explicit MetricsProcess(Core& core) : core_(core) {}
  void start();                  // does nothing if no address is configured
  void configuration_changed();  // serves another address, or none, if the configuration says so now

 private:
  Core& core_;
  std::string address_;             // that is served
  os::UniqueFd lifeline_, output_;  // `output_` closes when the process ends
  std::unique_ptr<os::EventLoop::Watch> watch_;
  std::unique_ptr<os::EventLoop::Timer> timer_;
};

}  // namespace minke::engine
