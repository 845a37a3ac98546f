// OwnerWatch: watches the process that owns a step or an allocation, and reports
// when it is gone. State's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/embedded/state/job.h"
#include "os/event_loop.h"
#include "os/fd.h"

namespace minke::engine {

class OwnerWatch {
 public:
  // Calls `on_gone` once, never in the constructor or after destruction; it may destroy the watch.
  OwnerWatch(os::EventLoop& loop, const Owner& owner, std::function<void()> on_gone);

 private:
  void begin();
  void gone();

  os::EventLoop& loop_;
  Owner owner_;
  std::function<void()> on_gone_;
  os::UniqueFd process_;
  std::unique_ptr<os::EventLoop::Watch> watch_;
  std::unique_ptr<os::EventLoop::Timer> next_look_;  // used while no descriptor is available
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace minke::engine
