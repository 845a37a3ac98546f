// Programs that the engine would run beside itself, as the mailer: none is started in a simulation, unless a
// test stands in for them.
#pragma once

#include <functional>

#include "base/result.h"
#include "os/detached.h"
#include "os/fd.h"

namespace minke::engine::simulation {

// For as long as it exists, os::start_detached() asks it. One at a time; one thread.
class StandInForPrograms {
 public:
  using Start = std::function<Result<os::UniqueFd>(const os::DetachedCommand& command)>;
  explicit StandInForPrograms(Start start);
  ~StandInForPrograms();
  StandInForPrograms(const StandInForPrograms&) = delete;
  StandInForPrograms& operator=(const StandInForPrograms&) = delete;
};

}  // namespace minke::engine::simulation
