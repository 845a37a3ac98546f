// Priorities: who of those that wait is served first.
//
// Basic: by submission, the earlier the higher. Multifactor: Slurm's weighted sum (sched/priority.h). The
// parts that stay (size, partition, QOS, TRES, nice) are worked out when a job enters the queue and kept with
// it; age and fair share change with time, and are added for all that wait every calc_period, never for each
// event. A priority that somebody set stays as it is. While nothing waits, no timer is set. State's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/embedded/state/job.h"
#include "engine/embedded/state/job_matcher.h"
#include "os/event_loop.h"
#include "sched/priority.h"
#include "sched/request.h"

namespace minke::model {
class JobSpec;
class NodeRecord;
}  // namespace minke::model

namespace minke::engine {

struct Core;

class Priorities {
 public:
  explicit Priorities(Core& core);

  bool multifactor() const;
  // Of a new or released job. 0: held.
  uint32_t initial(const model::JobSpec& spec, uint32_t job_id) const;
  // When it enters the queue: sets job.static_priority and job.priority, unless that is held or fixed.
  void enter(Job& job, const model::JobSpec& spec, const sched::Request& request);
  // In one of its partitions, as of the last calculation.
  uint32_t in_partition(const Job& job, const std::string& partition) const;

  void something_waits();  // the timer is set, if time changes anything
  void policy_changed();

  // What the sum is made of.
  sched::PriorityFactors factors(const Job& job, const model::JobSpec& spec,
                                 const sched::Request& request) const;

 private:
  void calculate();
  double changing_part(const Job& job) const;  // age and fair share
  std::vector<const model::NodeRecord*> nodes_of(const std::string& partition) const;
  double partition_part(const std::string& partition) const;

  Core& core_;
  std::unique_ptr<os::EventLoop::Timer> timer_;
  bool timer_set_ = false;
};

}  // namespace minke::engine
