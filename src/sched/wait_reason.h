// Why a job of the queue does not run yet, in Slurm's words. Worked out when somebody asks, never stored, so
// that a pass need not touch the jobs that it does not start.
#pragma once

#include <vector>

#include "sched/machine.h"
#include "sched/pending_queue.h"

namespace minke::model {
enum StateReason : int;
}  // namespace minke::model

namespace minke::sched {

// A view on one state of machine and queue: make one for each query, use it for any number of entries.
// Making one costs O(classes).
class WaitReasons {
 public:
  // `now`: s since the epoch, for what reservations hold; 0: it is not asked for. `gate`: see LimitGate.
  WaitReasons(const Machine& machine, const PendingQueue& queue, std::int64_t now = 0,
              const LimitGate& gate = {});

  // Resources for the first of its partition, Priority for those behind it; PartitionDown, or ReqNodeNotAvail
  // where even the idle machine would not do because nodes are down or drained: these hold nobody up.
  // Reservation where it waits for its own reservation to begin, and ReqNodeNotAvail where what others hold
  // is in the way (held() tells these). What `gate` refuses has its reason. None where the entry is not in
  // the queue.
  model::StateReason of(EntryId entry) const;
  // What keeps an entry from nodes that reservations hold; null: nothing does.
  const Hold* held(EntryId entry) const;

 private:
  const PendingQueue& queue_;
  std::vector<EntryId> first_;                    // by partition; of those that wait for resources
  std::vector<const Hold*> class_hold_;           // by class; null: none
  std::vector<model::StateReason> class_reason_;  // by class; WAIT_PRIORITY where it depends on the entry
};

}  // namespace minke::sched
