// Why a job of the queue does not run yet, in Slurm's words. Worked out when somebody asks, never stored, so
// that a pass need not touch the jobs that it does not start.
#pragma once

#include <vector>

#include "model/job.pb.h"
#include "sched/machine.h"
#include "sched/pending_queue.h"

namespace minke::sched {

// A view on one state of machine and queue: make one for each query, use it for any number of entries.
// Making one costs O(classes).
class WaitReasons {
 public:
  WaitReasons(const Machine& machine, const PendingQueue& queue);

  // Resources for the first of its partition, Priority for those behind it; PartitionDown, or ReqNodeNotAvail
  // where even the idle machine would not do because nodes are down or drained: these hold nobody up.
  // None where the entry is not in the queue.
  model::StateReason of(EntryId entry) const;

 private:
  const PendingQueue& queue_;
  std::vector<EntryId> first_;                    // by partition; of those that wait for resources
  std::vector<model::StateReason> class_reason_;  // by class; WAIT_PRIORITY where it depends on the entry
};

}  // namespace minke::sched
