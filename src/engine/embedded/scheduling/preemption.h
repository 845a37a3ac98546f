// Preemption: running jobs give way to waiting ones if the configuration allows it.
//
// QOS or the partitions' PriorityTier decide which job may preempt which. What happens to the preempted job
// (PreemptMode) and how long it may go on (GraceTime) comes from its own QOS or partition, else from the
// configuration. A job is asked to give way only if a waiting job will fit without it and without jobs that
// leave anyway. As few jobs as possible are asked, the least important first. The freed resources are kept
// for the job that asked. A suspended job goes on when its processors are free again. State's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/policy.h"
#include "engine/embedded/state/job.h"
#include "sched/forecast.h"
#include "sched/machine.h"
#include "sched/pending_queue.h"
#include "sched/request.h"
#include "sched/running_set.h"

namespace minke::store {
class LoadedRows;
}  // namespace minke::store

namespace minke::engine {

struct Core;

class Preemption {
 public:
  explicit Preemption(Core& core) : core_(core) {}

  void restore(store::LoadedRows& rows);
  config::PreemptMode mode_of(const Job& running) const;
  bool requeues(const Job& running) const;  // whether it would be requeued

  // Resumes suspended jobs that may go on: before a pass only if no waiting job would stop them again; after
  // it, only if they do not need room that was just made for a waiting job.
  void let_go_on(const sched::Machine& machine, bool before_pass);
  // Makes room for what the pass could not start. Jobs that preempt others are put first in the queue.
  void make_room(const sched::Machine& machine, sched::PendingQueue& queue, const sched::RunningSet& running,
                 const sched::LimitGate& gate);
  // When a job that is not in the queue yet could start in that partition by preempting others.
  // Nothing if it could not, or need not.
  std::optional<sched::ExpectedStart> foresee(const Job& job, const std::string& partition,
                                              const sched::Request& request, const sched::Machine& machine,
                                              const sched::RunningSet& running) const;

 private:
  // A heterogeneous job gives way as a whole.
  struct Running {
    std::vector<Job*> jobs;  // the components in no particular order, or a single job
    std::vector<sched::Placement> frees;
    uint64_t rank = 0;  // jobs with a lower rank are asked first
  };
  struct Asking {
    uint64_t rank = 0;  // a lower rank means a higher priority
    uint64_t job_id = 0;
    Job* job = nullptr;
    sched::EntryId entry = 0;
    auto operator<=>(const Asking&) const = default;
  };
  std::vector<Asking> asking(const sched::PendingQueue& queue, const std::vector<Running>& candidates) const;
  std::optional<std::vector<Job*>> take_victims(const Job& job, const sched::Request& request,
                                                std::vector<Running>& candidates,
                                                sched::Machine& later) const;
  // Sorted by rank. Jobs that leave anyway are released on `later`.
  std::vector<Running> candidates(const sched::RunningSet& running, sched::Machine& later) const;
  uint32_t grace_seconds(const Job& running) const;
  uint64_t rank_of(const Job& running) const;
  bool may_preempt(const Job& waiting, const std::string& partition, const Job& running) const;
  bool may_preempt(const Job& waiting, const std::string& partition, const Running& running) const;
  bool would_be_stopped_again(const Job& suspended, bool by_anybody) const;
  void ask(Job& component);  // one job, or one component of a heterogeneous job

  void remember_suspended(uint32_t job_id);
  void forget_suspended(uint32_t job_id);

  Core& core_;
  std::set<uint32_t> served_;     // jobs for which room was made after the last pass
  std::set<uint32_t> suspended_;  // stopped for other jobs, as stored
};

}  // namespace minke::engine
