// Whether this process speaks with a real Slurm, and with which: what somebody said, in $MINKE_CLUSTER or in
// [cluster] of minke.toml; else Minke's own cluster where there is one; else a Slurm whose configuration is
// on this machine, or that answers without one. Blocking; any thread.
#pragma once

#include <chrono>
#include <optional>

#include "base/result.h"
#include "engine/slurm/programs.h"

namespace minke::engine::slurm {

struct Found {
  Place place;
  std::chrono::seconds period{30};  // for how long an answer of slurmctld's does
};

// None: Minke's own engine is meant. Error: a Slurm is meant, and its commands are not there; or what was
// said cannot be understood.
Result<std::optional<Found>> find_slurm();

// The directory on PATH that has a real Slurm's squeue; empty: there is none.
std::string commands_on_path();

}  // namespace minke::engine::slurm
