// Rules about well-known programs in a script: GROMACS, AMBER and LAMMPS without the launcher, with another
// number of threads than the job has cores, or as a program that cannot use what was allocated. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "view/advice.h"
#include "view/script_commands.h"

namespace minke::view {

// What the job asked for, or held.
struct HeldByPrograms {
  uint32_t tasks = 1, cores_per_task = 1, cores = 1, nodes = 1;
  uint64_t gpus = 0;
};

void advise_on_programs(const std::vector<ScriptCommand>& commands, const HeldByPrograms& held,
                        std::vector<Advice>& all);

}  // namespace minke::view
