// Preemption: which of the jobs that run must give way so that one that waits can start.
//
// The caller says who may be asked, and in which order; of these as few as possible are taken, those that
// come first before those that come later. Pure; works on a copy of the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sched/machine.h"
#include "sched/placement.h"
#include "sched/request.h"

namespace minke::sched {

// What a job's giving way would free, several placements of a heterogeneous one: each is held on `machine`.
// The indices of those that must, ascending; empty where the request fits without; nothing where it does not
// fit even without all of them. `now`: s since the epoch, for what reservations hold.
std::optional<std::vector<std::size_t>> choose_victims(const Machine& machine, const Request& request,
                                                       std::span<const std::vector<Placement>> freed,
                                                       std::int64_t now);

}  // namespace minke::sched
