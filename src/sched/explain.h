// Explains to the user which part of a request is impossible even on the whole machine. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sched/machine.h"
#include "sched/request.h"

namespace minke::sched {

// `request` must not fit the idle machine. Always returns an error: 2005 "More processors requested than
// permitted" or 2006 "Node count specification invalid" where the whole partition has fewer processors or
// nodes, else 2014 "Requested node configuration is not available". The message names the option at fault and
// the most that the partition has of it.
Status explain_impossible(const Machine& machine, const Request& request);

// "24000M", "1T": memory in the largest unit that is exact.
std::string memory_text(std::uint64_t mib);
// "gpu:a100:2" or "gpu:2".
std::string gres_text(const MachineLayout& layout, GresNameId name, GresKindId kind, std::uint64_t count);

}  // namespace minke::sched
