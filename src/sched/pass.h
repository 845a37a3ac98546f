// One scheduling pass: start all that may start now.
//
// Policy: strictly by priority, with EASY backfill. In each partition the first job that cannot start gets a
// reservation: a place at the earliest time at which, going by the expected ends of all that runs, it fits.
// Whatever comes after it starts only where it ends before that time, or leaves enough for it then. So no
// job that is passed by is ever delayed by those that pass it, and large jobs do not starve.
// Cost: O(jobs started + classes), whatever the number of pending jobs; a class that did not fit is not tried
// again until something has become free. The same inputs give the same result, bit for bit.
// Owned by one thread; no clock: the caller says what time it is.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sched/ids.h"
#include "sched/machine.h"
#include "sched/pending_queue.h"
#include "sched/placement.h"
#include "sched/running_set.h"

namespace minke::sched {

struct PassOptions {
  bool backfill = true;         // false: a blocked job stops its partition
  bool shortest_first = false;  // what is behind a blocked job is tried in the order of time limits
  std::uint32_t reservations_per_partition = 1;  // more: jobs further behind are protected too, at a cost
  std::int64_t backfill_window_seconds = 0;  // no reservations beyond this (0: no such bound). One that is
                                             // shorter than the longest time limit lets large jobs starve.
  std::uint32_t max_backfill_tests = 0;      // classes to try once something is blocked; 0: all
  std::uint32_t max_starts = 0;              // 0: no bound; else the pass ends early and says so
  // What it refuses is passed over, without a reservation: only somebody's limits hold it up.
  LimitGate gate = {};
};

struct Reservation {
  EntryId entry = 0;
  std::int64_t start = 0;
  Placement placement;
};

struct PassResult {
  std::uint64_t started = 0;
  std::uint64_t tested = 0;               // placements tried
  std::uint64_t backfill_tested = 0;      // of them, once something was blocked
  std::uint64_t backfilled = 0;           // started past a job of its partition that was blocked
  bool more = false;                      // max_starts was reached: run another pass
  std::vector<Reservation> reservations;  // only those that were needed to decide about others
};

// Called for each start, in order. When it is called, the placement is booked on the machine and the entry's
// count in the queue is one less (it is gone at 0). For a request with companions it is called once for each
// component, in order, with the same entry and that component's part. `expected_end` is earlier than the time
// limit says where --time-min allowed that. It returns the key for the running set, where the
// pass then enters the placement with `expected_end`. It may call remove(), set_priority() and
// set_startable() of the queue (say, for the same job in another partition), but must not insert, nor touch
// the machine.
using StartCallback =
    std::function<RunKey(EntryId entry, const Placement& placement, std::int64_t expected_end)>;

// `now`: s since the epoch. Expected ends that have passed count as "any moment now".
PassResult run_pass(Machine& machine, PendingQueue& queue, RunningSet& running, std::int64_t now,
                    const PassOptions& options, const StartCallback& on_start);

}  // namespace minke::sched
