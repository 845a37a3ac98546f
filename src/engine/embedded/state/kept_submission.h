// A submission as jobs hold it: what it takes is on its user's budgets for as long as a job has it. State's
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/embedded/state/job.h"
#include "model/job_spec.pb.h"

namespace minke::engine {

struct Core;

// Of what is there already, or has been found to fit: it is counted, and not refused.
std::shared_ptr<const Submission> keep_submission(Core& core, uint32_t uid, Submission submission);

// The same submission for a record of tasks that was split off from its array's, and counts by itself.
std::shared_ptr<const Submission> keep_for_split_record(Core& core, uint32_t uid,
                                                        std::shared_ptr<const Submission> submission);

// Whether it is one: tasks that wait, and have a record besides the one that has their array's number.
bool is_split_record(const Job& job);

// Whether the user has room for jobs of these specifications. Error: EAGAIN, and which budget is used up.
Status has_room_for(Core& core, uint32_t uid, const std::vector<model::JobSpec>& specs);

}  // namespace minke::engine
