// Replaces programs that the engine would start, such as the mailer. A simulation starts none,
// unless a test provides a stand-in.
#pragma once

#include <functional>

#include "base/result.h"
#include "os/detached.h"
#include "os/fd.h"

namespace minke::engine::simulation {

// While it exists, os::start_detached() calls it. One at a time; one thread.
class StandInForPrograms {
 public:
  using Start = std::function<Result<os::UniqueFd>(const os::DetachedCommand& command)>;
  explicit StandInForPrograms(Start start);
  ~StandInForPrograms();
  StandInForPrograms(const StandInForPrograms&) = delete;
  StandInForPrograms& operator=(const StandInForPrograms&) = delete;
};

}  // namespace minke::engine::simulation
