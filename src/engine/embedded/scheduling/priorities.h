// Priorities: the order in which waiting jobs are served.
//
// Basic: by submission, earlier jobs first. Multifactor: Slurm's weighted sum (sched/priority.h). The
// constant parts (size, partition, QOS, TRES, nice) are computed when a job enters the queue and kept. Age
// and fair share change with time; they are added for all waiting jobs every calc_period, not for each event.
// A priority that somebody set does not change. While no job waits, no timer runs. State's thread.
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
  // When it enters the queue: sets job.static_priority and job.priority, unless the job is held or fixed.
  void enter(Job& job, const model::JobSpec& spec, const sched::Request& request);
  // Its priority in one of its partitions, as of the last calculation.
  uint32_t in_partition(const Job& job, const std::string& partition) const;

  void something_waits();  // sets the timer if priorities change with time
  void policy_changed();

  // The terms of the sum.
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
  int64_t calculated_ = 0;  // when: ages are shown as of then
};

}  // namespace minke::engine
