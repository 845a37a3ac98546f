// Another spec for a job that was submitted: the record in memory and in the store. Whoever changes what is
// scheduled takes the job out of the queue before and puts it back after. State's thread.
#pragma once

#include "engine/embedded/state/job.h"

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::engine {

struct Core;

// Tasks of an array share their submission: the changed one gets its own, under its own id.
void change_spec(Core& core, Job& job, const model::JobSpec& spec);

}  // namespace minke::engine
