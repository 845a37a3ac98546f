// Opens the cluster that this process uses. Blocking; any thread.
#pragma once

#include <memory>

#include "engine/engine.h"

namespace minke::engine {

enum class Start { kWhereNoneRuns, kNever };

// A real Slurm where one is meant (engine/slurm/find.h); else the embedded engine of this process's home
// (os/minke_home.h), whose daemon is started where none runs and `start` says so; else ECONNREFUSED. Errors
// say what to do.
Result<std::unique_ptr<Engine>> open(Start start = Start::kWhereNoneRuns);

}  // namespace minke::engine
