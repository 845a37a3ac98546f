// Changes the spec of a submitted job, in memory and in the store. A caller that changes what is scheduled
// takes the job out of the queue before and puts it back afterwards. State's thread.
#pragma once

#include "engine/embedded/state/job.h"

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::engine {

struct Core;

// Tasks of an array share a submission: the changed one gets its own, with its own id.
void change_spec(Core& core, Job& job, const model::JobSpec& spec);

}  // namespace minke::engine
