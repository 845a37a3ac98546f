// What `sbatch --test-only` is told: when the job would start, and where. The forecast is made in slices,
// which are pieces of a long answer (flow_control.h). State's thread.
#pragma once

#include "engine/embedded/life_cycle/submitting.h"

namespace minke::engine {

struct Core;
class LongAnswer;

void tell_tested(Core& core, Submitting::Tested tested, LongAnswer& answer);

}  // namespace minke::engine
