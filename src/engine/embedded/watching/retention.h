// Retention: how long records of ended jobs are kept ([accounting] purge_jobs_after). Once a
// day, and when the configuration is read, the store removes older ones. Without that setting
// nothing is removed. State's thread.
#pragma once

#include <memory>

#include "os/event_loop.h"

namespace minke::engine {

struct Core;

class Retention {
 public:
  explicit Retention(Core& core) : core_(core) {}

  void policy_changed();  // call it at the start, too

 private:
  void purge();

  Core& core_;
  bool purging_ = false;
  std::unique_ptr<os::EventLoop::Timer> daily_;
};

}  // namespace minke::engine
