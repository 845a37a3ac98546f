// Makes the Request of a job from its stored spec, in which nodes are hostlists and after which the time
// limit may have changed. Pure; any thread.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/result.h"
#include "sched/request.h"

namespace minke::sched {

// Whether requests could ever be placed on a machine (Machine::could_ever): each of equal ones is tried once.
// That takes a look at all nodes, and a long queue has few kinds of jobs. For one machine; one thread.
class PossibleRequests {
 public:
  Status could_ever(const Machine& machine, const Request& request);

 private:
  std::unordered_map<Request, Status, RequestHash> known_;  // looked up only
};

// Like make_request() of request.h, with --nodelist and --exclude from the spec (2018 for a bad hostlist) and
// with a time limit in minutes; 0: the limit of the spec, or the partition's default. `possible`: what is
// known.
Result<Request> make_request(const model::JobSpec& spec, const model::PartitionRecord& partition,
                             const Machine& machine, std::uint32_t time_limit_minutes,
                             PossibleRequests* possible = nullptr);

// Whether jobs of the partition may start. A draining partition takes no new jobs but runs those it has.
bool is_scheduled(const model::PartitionRecord& partition);

}  // namespace minke::sched
