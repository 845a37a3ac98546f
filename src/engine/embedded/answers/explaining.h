// Answers to `minke why`: what a job waits for, which jobs are before it, when it will start, and what
// smaller request would start sooner. All of it comes from the scheduler run forward on copies of the state.
//
// A forecast takes some milliseconds, and an answer needs some twenty of them, and never many more: each is a
// piece of a long answer (flow_control.h), in its user's turn, with everything else that happens in between.
// The answer speaks of the state as it was at each piece. State's thread.
#pragma once

#include <cstdint>

#include "engine/embedded/answers/queries.h"
#include "engine/embedded/server/flow_control.h"

namespace minke::api {
class ExplainJobRequest;
}  // namespace minke::api

namespace minke::engine {

struct Core;

// `uid`: who asks. An error (invalid job id) for jobs that are not in memory: the accounting has them.
void explain_job(Core& core, Queries& queries, const api::ExplainJobRequest& request, uint32_t uid,
                 LongAnswer& answer);

}  // namespace minke::engine
