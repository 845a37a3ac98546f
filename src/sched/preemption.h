// Preemption: chooses which running jobs give way so that a waiting job can start.
//
// The caller passes the candidates in order of preference. As few as possible are taken, and earlier
// candidates before later ones. Pure; works on a copy of the machine. Any thread.
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

// `freed`: what each candidate would free (several placements for a heterogeneous job), all held on
// `machine`. Returns the ascending indices of the victims; empty if the request fits without any, nothing if
// it does not fit even without all of them. `now`: s since the epoch; decides what reservations hold.
std::optional<std::vector<std::size_t>> choose_victims(const Machine& machine, const Request& request,
                                                       std::span<const std::vector<Placement>> freed,
                                                       std::int64_t now);

}  // namespace minke::sched
