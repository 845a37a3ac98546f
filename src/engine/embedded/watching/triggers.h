// Triggers (strigger): programs that users have run when a job ends or reaches its time limit, when
// nodes go down, come up, drain or stay idle, or when the configuration is read again.
//
// Invariants: a trigger is durable and fires once: it leaves the store before its program starts,
// unless it is permanent. Nodes are compared with their state at the last look. They are looked at
// only while a trigger watches nodes, so earlier events fire nothing. A program runs as the user
// who set the trigger, in a process that kills it after five minutes (`minke trigger-program`),
// within the user's budget (Budget::kHelperProcesses). It runs outside of all jobs, their limits
// and the GPU guard. So on a shared cluster only operators may set triggers, as in Slurm where
// SlurmUser is not root. State's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/embedded/job_events.h"
#include "engine/embedded/server/budgets.h"
#include "model/trigger.pb.h"
#include "os/event_loop.h"
#include "os/fd.h"

namespace minke::api {
class ClearTriggersRequest;
class SetTriggersRequest;
class TriggersReply;
}  // namespace minke::api

namespace minke::store {
class LoadedRows;
}  // namespace minke::store

namespace minke::engine {

struct Core;

class Triggers : public JobListener {
 public:
  explicit Triggers(Core& core);

  void restore(store::LoadedRows& rows);
  void go_on();  // call it when jobs are loaded: notices what has happened meanwhile

  // Sets all triggers or none. Errors are Slurm's. Only operators may do so; in personal
  // mode the cluster's user is one.
  Status set(const api::SetTriggersRequest& request, uint32_t uid, uint32_t gid);
  Status clear(const api::ClearTriggersRequest& request, uint32_t uid);
  void query(uint32_t uid, api::TriggersReply& reply) const;

  void job_started(Job&, Start) override { nodes_changed(); }
  void job_freed(Job&, int64_t) override { nodes_changed(); }
  void job_ended(Job& job, bool) override {
    if (!triggers_.empty()) pull_job_end(job);
  }
  // The time (s since the epoch; 0: none) before the running job's limit
  // at which something must be done.
  int64_t next_mark(const Job& job) const override;
  void mark_reached(Job& job) override;
  // A node's state has changed, or a job started or ended on it. Nodes are checked after the current burst.
  void nodes_changed();
  void reconfigured();

 private:
  struct Seen {  // of a node at the last look
    bool down = false;
    bool drained = false;
    bool draining = false;  // takes no jobs, but has some
    bool failing = false;
    int64_t idle_since = 0;  // 0: it is not idle
    bool refuses_jobs() const { return down || drained || draining || failing; }
    bool happened_since(const Seen& before, model::TriggerEvent event) const;
  };
  using Nodes = std::vector<std::string>;
  struct Program {  // a running program
    os::UniqueFd output;
    std::unique_ptr<os::EventLoop::Watch> watch;
    Budgets::Charge charge;
  };

  bool watches_nodes() const;
  std::map<std::string, Seen> look() const;
  void check_nodes();
  void check_idle();
  Status complete(model::Trigger& trigger) const;
  Status complete_of_nodes(model::Trigger& trigger) const;
  Status complete_of_job(model::Trigger& trigger) const;
  void pull_job_end(const Job& job);
  // The event of this trigger has come: runs its program now, or `offset` later.
  void pull(uint32_t id, const std::string& argument);
  void run_due();
  void run(const model::Trigger& trigger, const std::string& argument);
  Status start_program(const model::Trigger& trigger, const std::string& argument);
  void keep(const model::Trigger& trigger);
  void remove(uint32_t id);
  void set_timer();

  Core& core_;
  std::map<uint32_t, model::Trigger> triggers_;
  std::map<std::string, Seen> seen_;  // empty while no trigger watches nodes
  std::map<std::pair<uint32_t, std::string>, int64_t>
      idle_told_;  // permanent triggers: the idle time that fired
  uint32_t next_id_ = 1;
  std::map<uint64_t, Program> programs_;
  uint64_t next_program_ = 0;
  bool check_posted_ = false;
  std::unique_ptr<os::EventLoop::Timer> timer_;
};

}  // namespace minke::engine
