// Turns a trace's jobs into requests to the cluster of a configuration. Pure.
//
// A job with a number of nodes asks for one task on each, with its part of CPUs, memory and GPUs, rounded up;
// else it asks for one task for each processor, wherever they fit. A partition that the configuration lacks
// becomes the default one, and a type of GPU that no node has becomes any type.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/cluster.pb.h"
#include "sched/machine.h"
#include "sched/request.h"
#include "sim/trace.h"

namespace minke::sim {

struct PlacedRequests {
  std::vector<sched::Request> requests;
  std::vector<std::uint32_t> request_of;         // by job; kNoRequest (replay.h): the cluster refuses it
  std::map<std::string, std::uint64_t> refused;  // jobs, by reason
};

// Returns the partition that the trace names, else the default one.
const model::PartitionRecord& partition_of(const Trace& trace, const TraceJob& job,
                                           std::span<const model::PartitionRecord> partitions);

// `partitions` are those that `machine` was built with; at least one is the default.
PlacedRequests make_requests(const Trace& trace, std::span<const model::PartitionRecord> partitions,
                             const sched::Machine& machine);

}  // namespace minke::sim
