// Preemption: jobs that run give way to ones that wait, where the configuration lets them.
//
// Who may ask whom goes by QOS or by the partitions' PriorityTier; what becomes of the one that gives way
// (PreemptMode) and how long it is left (GraceTime) is said by its own QOS or partition, else by the
// configuration. A job is asked only when another that waits will fit without it and those that are leaving
// anyway; as few as possible are, the least important first. What it is asked for stays for the one that
// asked. A suspended job goes on when its processors are free again. State's thread.
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
  bool requeues(const Job& running) const;  // it would go back to the queue

  // What is suspended and may go on, goes on: before a pass only where nothing that waits would stop it
  // again, after it where nothing does that room has just been made for.
  void let_go_on(const sched::Machine& machine, bool before_pass);
  // For what the pass could not start. Those that asked are put first in the queue.
  void make_room(const sched::Machine& machine, sched::PendingQueue& queue, const sched::RunningSet& running,
                 const sched::LimitGate& gate);
  // For a job that is not in the queue yet: when others would have made room for it in that partition.
  // Nothing where they would not, or need not.
  std::optional<sched::ExpectedStart> foresee(const Job& job, const std::string& partition,
                                              const sched::Request& request, const sched::Machine& machine,
                                              const sched::RunningSet& running) const;

 private:
  // A heterogeneous job gives way as a whole.
  struct Running {
    std::vector<Job*> jobs;  // its components, in no order; else one
    std::vector<sched::Placement> frees;
    uint64_t rank = 0;  // the lower, the sooner it is asked
  };
  struct Asking {
    uint64_t rank = 0;  // the lower, the more priority it has
    uint64_t job_id = 0;
    Job* job = nullptr;
    sched::EntryId entry = 0;
    auto operator<=>(const Asking&) const = default;
  };
  std::vector<Asking> asking(const sched::PendingQueue& queue, const std::vector<Running>& candidates) const;
  std::optional<std::vector<Job*>> take_victims(const Job& job, const sched::Request& request,
                                                std::vector<Running>& candidates,
                                                sched::Machine& later) const;
  // By rank. What is leaving anyway is released on `later`.
  std::vector<Running> candidates(const sched::RunningSet& running, sched::Machine& later) const;
  uint32_t grace_seconds(const Job& running) const;
  uint64_t rank_of(const Job& running) const;
  bool may_preempt(const Job& waiting, const std::string& partition, const Job& running) const;
  bool may_preempt(const Job& waiting, const std::string& partition, const Running& running) const;
  bool would_be_stopped_again(const Job& suspended, bool by_anybody) const;
  void ask(Job& component);  // or a job that is none

  void remember_suspended(uint32_t job_id);
  void forget_suspended(uint32_t job_id);

  Core& core_;
  std::set<uint32_t> served_;     // jobs that room was made for after the last pass
  std::set<uint32_t> suspended_;  // stopped for others, as stored
};

}  // namespace minke::engine
