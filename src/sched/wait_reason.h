// Why a job of the queue does not run yet, in Slurm's words. The reason is computed when asked for and never
// stored, so that a pass need not touch the jobs that it does not start.
#pragma once

#include <vector>

#include "sched/machine.h"
#include "sched/pending_queue.h"

namespace minke::model {
enum StateReason : int;
}  // namespace minke::model

namespace minke::sched {

// A view of one state of machine and queue. Make one for each query and use it for any number of entries.
// Construction costs O(classes).
class WaitReasons {
 public:
  // `now`: s since the epoch, to check what reservations hold; 0: no check. `gate`: see LimitGate.
  WaitReasons(const Machine& machine, const PendingQueue& queue, std::int64_t now = 0,
              const LimitGate& gate = {});

  // Resources for the first job of its partition, Priority for those behind it. PartitionDown, or
  // ReqNodeNotAvail if not even the idle machine could run it because nodes are down or drained; such jobs
  // block nobody. Reservation if the job waits for its own reservation to begin, and ReqNodeNotAvail if the
  // holds of other reservations are in the way (held() returns the hold). If `gate` refuses it, the gate's
  // reason. None if the entry is not in the queue.
  model::StateReason of(EntryId entry) const;
  // The hold of a reservation that keeps the entry from nodes; null: there is none.
  const Hold* held(EntryId entry) const;

 private:
  const PendingQueue& queue_;
  std::vector<EntryId> first_;                    // by partition: the first entry that waits for resources
  std::vector<const Hold*> class_hold_;           // by class; null: none
  std::vector<model::StateReason> class_reason_;  // by class; WAIT_PRIORITY: it depends on the entry
};

}  // namespace minke::sched
