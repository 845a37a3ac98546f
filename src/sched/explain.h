// Says what exactly makes a request impossible on the whole machine, for the person who asked.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sched/machine.h"
#include "sched/request.h"

namespace minke::sched {

// For a request that does not fit the idle machine: always an error, 2014 "Requested node configuration is
// not available". Names the option at fault and the most that the partition has of it.
Status explain_impossible(const Machine& machine, const Request& request);

// 24000 -> "24000M", 1048576 -> "1T": the largest unit that is exact.
std::string memory_text(std::uint64_t mib);
// "gpu:a100:2" or "gpu:2".
std::string gres_text(const MachineLayout& layout, GresNameId name, GresKindId kind, std::uint64_t count);

}  // namespace minke::sched
