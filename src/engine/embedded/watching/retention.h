// How long the record of ended jobs is kept: [accounting] purge_jobs_after. Once a day, and when the
// configuration is read, the store is told to forget what ended before. Without that, nothing is forgotten.
// State's thread.
#pragma once

#include <memory>

#include "os/event_loop.h"

namespace minke::engine {

struct Core;

class Retention {
 public:
  explicit Retention(Core& core) : core_(core) {}

  void policy_changed();  // at the start, too

 private:
  void purge();

  Core& core_;
  bool purging_ = false;
  std::unique_ptr<os::EventLoop::Timer> daily_;
};

}  // namespace minke::engine
