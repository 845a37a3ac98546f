// Makes the Request of a job from its stored spec, in which nodes are hostlists and after which the time
// limit may have changed. Pure; any thread.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sched/request.h"

namespace minke::sched {

// Like make_request() of request.h, with --nodelist and --exclude from the spec (2018 for a bad hostlist) and
// with a time limit in minutes; 0: the limit of the spec, or the partition's default.
Result<Request> make_request(const model::JobSpec& spec, const model::PartitionRecord& partition,
                             const Machine& machine, std::uint32_t time_limit_minutes);

// Whether jobs of the partition may start. A draining partition takes no new jobs but runs those it has.
bool is_scheduled(const model::PartitionRecord& partition);

}  // namespace minke::sched
