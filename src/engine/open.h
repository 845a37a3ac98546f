// Opens the cluster that this process uses. Blocking; any thread.
#pragma once

#include <memory>

#include "engine/engine.h"

namespace minke::engine {

enum class Start { kWhereNoneRuns, kNever };

// The embedded engine of this process's home (os/minke_home.h). If no daemon runs, starts one if `start` says
// so, else returns ECONNREFUSED. Error messages say what to do.
Result<std::unique_ptr<Engine>> open(Start start = Start::kWhereNoneRuns);

}  // namespace minke::engine
