// One scheduling pass: it starts all jobs that may start now.
//
// Policy: strictly by priority, with EASY backfill. In each partition the first job that cannot start
// gets a reservation: a placement at the earliest time at which it fits, by the expected ends of all
// running jobs. A job behind it starts only if it ends before that time or leaves enough for the
// reservation. So no backfilled job delays the job that it passes, and large jobs do not starve. Cost:
// O(jobs started + classes), for any number of pending jobs. A class that did not fit is tried again only
// after something became free. The same inputs give the same result, bit for bit. Owned by one thread;
// reads no clock: the caller passes the time.
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
  bool shortest_first = false;  // jobs behind a blocked one are tried in the order of time limits
  std::uint32_t reservations_per_partition = 1;  // more also protect jobs further behind, at a cost
  std::int64_t backfill_window_seconds = 0;  // no reservations beyond this (0: no such bound). One that is
                                             // shorter than the longest time limit lets large jobs starve.
  std::uint32_t max_backfill_tests = 0;      // classes to try after the first blocked job; 0: all
  std::uint32_t max_starts = 0;              // 0: no bound; else the pass stops there and sets `more`
  // A refused class is passed over without a reservation: only limits outside of the machine block it.
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
  std::uint64_t backfill_tested = 0;      // of these, after the first blocked job
  std::uint64_t backfilled = 0;           // started past a blocked job of their partition
  bool more = false;                      // max_starts was reached: run another pass
  std::vector<Reservation> reservations;  // only those that other decisions needed
};

// Called for each start, in order. At the call, the placement is booked on the machine and the entry's
// count in the queue is one less (at 0 the entry is gone). For a request with companions it is called once
// for each component, in order, with the same entry and that component's part. `expected_end` is earlier
// than the time limit says if --time-min allowed that. It returns the key under which the pass then enters
// the placement with `expected_end` in the running set. It may call remove(), set_priority() and
// set_startable() of the queue (for example for the same job in another partition), but must not insert
// entries or change the machine.
using StartCallback =
    std::function<RunKey(EntryId entry, const Placement& placement, std::int64_t expected_end)>;

// `now`: s since the epoch. An expected end that has passed counts as "any moment now".
PassResult run_pass(Machine& machine, PendingQueue& queue, RunningSet& running, std::int64_t now,
                    const PassOptions& options, const StartCallback& on_start);

}  // namespace minke::sched
