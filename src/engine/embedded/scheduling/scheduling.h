// Which jobs are in the scheduler's queue, and the passes over it.
//
// Invariant: a job is in the queue exactly while it may start: pending, durable, not held, eligible, its
// dependencies fulfilled, its array below the throttle. Whoever changes one of these
// tells JobListener::obstacle_changed, or calls update() where it stands above. Passes run once per burst of
// events. The machine, the queue and what runs are engine/embedded/scheduling/world.h's; only this changes
// them. State's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/configuration.h"
#include "engine/embedded/cluster_events.h"
#include "engine/embedded/job_events.h"
#include "engine/embedded/state/job.h"
#include "model/cluster.pb.h"
#include "model/job_spec.pb.h"
#include "sched/cpu_numbers.h"
#include "sched/forecast.h"
#include "sched/machine.h"
#include "sched/pass.h"
#include "sched/pending_queue.h"
#include "sched/running_set.h"
#include "sched/wait_reason.h"

namespace minke::model {
enum StateReason : int;
}  // namespace minke::model

namespace minke::engine {

struct Core;

class Scheduling : public JobListener, public ClusterListener {
 public:
  explicit Scheduling(Core& core);

  void update(Job& job);  // enters or takes out, as the invariant says; sets the reason where it must wait
  void throttle_changed(uint32_t array_job_id);  // or the number of its tasks that run
  void remove(Job& job);                         // out of the queue, whatever its state
  void request_pass();                           // after this burst of events
  void pause(bool paused);                       // no passes while the launcher cannot take orders

  // Books what a restart found running. A node that is gone: the error says so, nothing is booked.
  Status adopt(const Job& job);
  void release(const Job& job);
  void time_limit_changed(const Job& job);

  // Whatever of these changes, what waits and is concerned is looked at again.
  void limits_changed() override;
  void priorities_changed() override;
  void node_availability_changed(const std::string& node, bool available) override;
  void partition_changed(const model::PartitionRecord& partition, bool recount) override;
  void holds_changed() override;
  void store_works_again() override { request_pass(); }
  // The machine is laid out anew from nodes and partitions as they stand now: what runs keeps its place, and
  // what waits is looked at again.
  void layout_changed() override;

  void job_started(Job& job, Start start) override;
  void job_freed(Job& job, int64_t) override { release(job); }
  void job_left_queue(Job& job) override { remove(job); }
  // The processors of a suspended job are others' until it goes on; all else that it has stays its own. When
  // it goes on, they may be used twice for a while.
  void job_suspended(Job& job) override;
  void job_resumed(Job& job) override;
  void obstacle_changed(Job& job) override { update(job); }
  void job_due(Job& job) override { update(job); }
  void array_task_over(uint32_t array_job_id) override;

  // Checks a request against the machine; with several partitions, one that can take it is enough, and the
  // list is narrowed to those.
  Status check(const model::JobSpec& spec, std::string& partitions) const;
  // Whether the components of a heterogeneous job, which have passed check(), can ever run at once.
  Status check_together(const std::vector<model::JobSpec>& specs) const;
  // What each node would be asked for, for messages and records of jobs that wait.
  Result<sched::Request> request_for(const model::JobSpec& spec, const std::string& partition,
                                     uint32_t time_limit_minutes) const;

  // Whose the request is, and whose limits hold for it.
  void apply_limits(const Job& job, const model::JobSpec& spec, sched::Request& request) const;

  uint32_t time_limit_of(const model::JobSpec& spec) const;  // minutes; of its first partition

  // Of the first ones of the queue. Kept until the state changes, or for some seconds.
  const std::vector<sched::ExpectedStart>& forecast() const;
  int64_t expected_seconds(const Job& job) const;  // that a job which waits will run
  // Of one that will enter the queue at `from`, or is in it already; not of a heterogeneous job's component.
  std::optional<sched::ExpectedStart> forecast_later(const Job& job, int64_t from,
                                                     const sched::ForecastOptions& options) const;
  // The same if it asked for something else, in one partition.
  std::optional<sched::ExpectedStart> forecast_changed(const Job& job, const sched::Request& request) const;
  // Of a job that is not in the queue, or of a heterogeneous one's components, as they would be charged and
  // served; where it starts is said of the first.
  std::optional<sched::ExpectedStart> forecast_submission(
      const std::vector<std::unique_ptr<Job>>& components) const;
  sched::WaitReasons wait_reasons() const;
  model::StateReason reason_of(const sched::WaitReasons& reasons, const Job& job) const;
  // More of that, in Slurm's words; empty: there is no more to say.
  // Nothing starts, because nobody is there to start it.
  bool launcher_is_missing() const;
  std::string reason_detail_of(const sched::WaitReasons& reasons, const Job& job) const;

  size_t queued() const { return queue_.size(); }

 private:
  void withhold_lost_gpus();
  // What keeps a job that waits from the queue by itself; nothing where it may start.
  bool begins_later(const Job& job) const;
  std::optional<model::StateReason> obstacle(Job& job) const;
  // The heterogeneous job that `job` is a component of: one entry, under its first component's id.
  void update_components(Job& job);
  Result<sched::Request> request_together(const std::vector<model::JobSpec>& specs) const;
  // A request of a job that is not in the queue, with its limits; also its priority in that partition.
  uint64_t enter_hypothetically(Job& job, sched::Request& request) const;
  void wait(Job& job, model::StateReason reason);
  int64_t core_now() const;
  // The first of its partitions that could take it; the error is that of the last.
  Result<sched::Request> first_request(const model::JobSpec& spec, const std::vector<std::string>& partitions,
                                       uint32_t time_limit_minutes) const;
  sched::RunKey start_component(Job& leader, const sched::Placement& placement, int64_t expected_end);
  // A start at `placement` has been decided; a limit that --time-min allowed to be shorter is set.
  int script_node_of(const Job& job, const sched::Placement& placement) const;
  // Books the CPUs of its record; nodes that have none there yet, as of a job of an older Minke, get some.
  void number_cpus(const Job& job);
  void take_place(Job& job, const std::string& partition, const sched::Placement& placement,
                  int64_t expected_end);
  void pass();
  sched::RunKey start(sched::EntryId entry, const sched::Placement& placement, int64_t expected_end);
  uint32_t startable(const Job& job) const;
  uint32_t user_of(const Job& job) const;  // as in sched::NodeRules
  uint32_t priority_in(const Job& job, const std::string& partition) const;
  std::vector<sched::LicenseShare> licenses_of(const Job& job) const;

  Core& core_;
  sched::Machine& machine_;  // of core.world, as what follows
  sched::PendingQueue& queue_;
  sched::RunningSet& running_;
  sched::CpuNumbers cpu_numbers_;
  bool pass_scheduled_ = false;
  bool paused_ = true;
  struct Forecast {
    int64_t time = 0;  // at which it was made; 0: none, or the state has changed
    std::vector<sched::ExpectedStart> starts;
  };
  mutable Forecast forecast_;
};

}  // namespace minke::engine
