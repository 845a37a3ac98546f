// Submissions charged to their users' budgets: a submission is charged while
// any job has it. State's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/embedded/state/job.h"
#include "model/job_spec.pb.h"

namespace minke::engine {

struct Core;

// For a submission that exists already or was found to fit: it is charged, never refused.
std::shared_ptr<const Submission> keep_submission(Core& core, uint32_t uid, Submission submission);

// The same submission for a record of tasks that was split off its array's record; charged separately.
std::shared_ptr<const Submission> keep_for_split_record(Core& core, uint32_t uid,
                                                        std::shared_ptr<const Submission> submission);

// Whether it is a record of waiting tasks other than the one with the array's own id.
bool is_split_record(const Job& job);

// Whether the user has room for jobs of these specs. Error: EAGAIN, and the budget that is used up.
Status has_room_for(Core& core, uint32_t uid, const std::vector<model::JobSpec>& specs);

}  // namespace minke::engine
