// The process that owns a step or an allocation: watched, to say when it is gone, and written to. State's
// thread.
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
  // `on_gone` is called once, never inside the constructor, not after destruction; it may destroy the watch.
  OwnerWatch(os::EventLoop& loop, const Owner& owner, std::function<void()> on_gone);

 private:
  void begin();
  void gone();

  os::EventLoop& loop_;
  Owner owner_;
  std::function<void()> on_gone_;
  os::UniqueFd process_;
  std::unique_ptr<os::EventLoop::Watch> watch_;
  std::unique_ptr<os::EventLoop::Timer> next_look_;  // while this process has no descriptor to spare
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace minke::engine
