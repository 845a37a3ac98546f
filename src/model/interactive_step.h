// The number of the step that salloc's shell is, as in Slurm: no step that srun begins has it.
#pragma once

#include <cstdint>

namespace minke::model {

inline constexpr uint32_t kInteractiveStep = 0xfffffffa;

}  // namespace minke::model
