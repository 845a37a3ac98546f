// sprio: the factors of the priorities of the jobs that wait, in each of their partitions. State's thread.
#pragma once

#include "engine/embedded/job_matcher.h"

namespace minke::api {
class PrioritiesReply;
class QueryPrioritiesRequest;
}  // namespace minke::api

namespace minke::engine {

struct Core;

void query_priorities(Core& core, const api::QueryPrioritiesRequest& request, Viewer viewer,
                      api::PrioritiesReply& reply);

}  // namespace minke::engine
