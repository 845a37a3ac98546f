// Watches the process that owns a step or an allocation, and says when it is gone. State's thread.
#pragma once

#include <functional>
#include <memory>

#include "engine/embedded/job.h"
#include "os/event_loop.h"
#include "os/fd.h"

namespace minke::engine {

class OwnerWatch {
 public:
  // `on_gone` is called once, never inside the constructor, not after destruction; it may destroy the watch.
  OwnerWatch(os::EventLoop& loop, const Owner& owner, std::function<void()> on_gone);

 private:
  void gone();

  std::function<void()> on_gone_;
  os::UniqueFd process_;
  std::unique_ptr<os::EventLoop::Watch> watch_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace minke::engine
