// Withheld: the one reservation under which classes of a queue were last seen not to fit
// (ClassTree::shut_at), kept from pass to pass, so that they are not tried again where nothing has changed.
//
// What fits under a reservation neither now nor on any node that has grown since does not fit as long as the
// reservation has the same place and begins no later: time only brings more of each run beyond its begin, and
// what starts only takes. Whoever changes ends of runs, or adds what runs, is noticed by
// RunningSet::version(). Internal to sched; owned by a PendingQueue.
#pragma once

#include <cstdint>

#include "sched/ids.h"
#include "sched/placement.h"

namespace minke::sched {

struct Withheld {
  bool known = false;  // else nothing is withheld, and the rest means nothing
  EntryId entry = 0;   // whose the reservation is
  std::int64_t start = 0;
  Placement placement;
  // As they were at the end of the last pass.
  std::uint64_t growth = 0;
  std::uint64_t availability = 0;
  std::uint64_t running = 0;
};

}  // namespace minke::sched
