// A submission as jobs hold it: what it takes is on its user's budgets for as long as a job has it. State's
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/embedded/job.h"
#include "model/job_spec.pb.h"

namespace minke::engine {

struct Core;

// Of what is there already, or has been found to fit: it is counted, and not refused.
std::shared_ptr<const Submission> keep_submission(Core& core, uint32_t uid, Submission submission);

// Whether the user has room for jobs of these specifications. Error: EAGAIN, and which budget is used up.
Status has_room_for(Core& core, uint32_t uid, const std::vector<model::JobSpec>& specs);

}  // namespace minke::engine
