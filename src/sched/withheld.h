// Withheld: the one reservation under which classes of a queue were last seen not to fit
// (ClassTree::shut_at). It is kept from pass to pass, so that nothing is tried again without a change.
//
// A class that fits under it neither now nor on a node that has grown since does not fit while the
// reservation keeps its placement and begins no later: over time, runs only extend further beyond its
// begin, and starts only take resources. RunningSet::version() reveals new runs and later ends. Internal to
// sched; owned by a PendingQueue.
#pragma once

#include <cstdint>

#include "sched/ids.h"
#include "sched/placement.h"

namespace minke::sched {

struct Withheld {
  bool known = false;  // false: nothing is withheld, and the other fields mean nothing
  EntryId entry = 0;   // the entry that has the reservation
  std::int64_t start = 0;
  Placement placement;
  // The values at the end of the last pass.
  std::uint64_t growth = 0;
  std::uint64_t availability = 0;
  std::uint64_t running = 0;
};

}  // namespace minke::sched
