// Requests of a job as it is known later, by whoever has its spec: the nodes that it names are in hostlists,
// and its time limit may have been changed since. Pure; any thread.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sched/request.h"

namespace minke::sched {

// As make_request() of request.h, with --nodelist and --exclude from the spec (2018 for what is no hostlist),
// and under a time limit of so many minutes; 0: the spec's, or the partition's default.
Result<Request> make_request(const model::JobSpec& spec, const model::PartitionRecord& partition,
                             const Machine& machine, std::uint32_t time_limit_minutes);

// Whether its jobs may start: a partition that drains takes no new ones, but runs those that it has.
bool is_scheduled(const model::PartitionRecord& partition);

}  // namespace minke::sched
