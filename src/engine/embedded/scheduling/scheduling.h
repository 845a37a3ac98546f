// Scheduling: decides which jobs are in the scheduler's queue, and runs the passes over it.
//
// Invariant: a job is in the queue exactly while it may start: it is pending, durable, not held and
// eligible, its dependencies are fulfilled, and its array is below the throttle. A part that changes one of
// these sends JobListener::obstacle_changed, or calls update() if it stands above this one. Passes run once
// per burst of events. engine/embedded/scheduling/world.h has the machine, the queue and the running jobs;
// only this class changes them. State's thread.
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
struct HypotheticalEntry;
class QueueForecast;

class Scheduling : public JobListener, public ClusterListener {
 public:
  explicit Scheduling(Core& core);

  void update(Job& job);  // adds or removes it by the invariant; sets the reason if it must wait
  void throttle_changed(uint32_t array_job_id);  // also when the number of its running tasks changed
  void remove(Job& job);                         // from the queue, whatever its state
  void request_pass();                           // after this burst of events
  void pause(bool paused);                       // no passes while the launcher takes no orders

  // Books a job that a restart found running. The error names a node that is gone; then nothing is booked.
  Status adopt(const Job& job);
  void release(const Job& job);
  void time_limit_changed(const Job& job);

  // After each of these changes, the waiting jobs that it concerns are looked at again.
  void limits_changed() override;
  void priorities_changed() override;
  void node_availability_changed(const std::string& node, bool available) override;
  void partition_changed(const model::PartitionRecord& partition, bool recount) override;
  void holds_changed() override;
  void store_works_again() override { request_pass(); }
  // Lays the machine out again from the current nodes and partitions. Running jobs keep their places, and
  // waiting jobs are looked at again.
  void layout_changed() override;

  void job_started(Job& job, Start start) override;
  void job_freed(Job& job, int64_t end_time) override;
  void job_left_queue(Job& job) override { remove(job); }
  // A suspended job lends its processors until it goes on, and keeps everything else. When it goes on, the
  // processors may be used twice for a while.
  void job_suspended(Job& job) override;
  void job_resumed(Job& job) override;
  void obstacle_changed(Job& job) override { update(job); }
  void job_due(Job& job) override { update(job); }
  void array_task_over(uint32_t array_job_id) override;

  // Checks a request against the machine. One partition of several that can take it is enough;
  // `partitions` is reduced to those that can.
  Status check(const model::JobSpec& spec, std::string& partitions) const;
  // Whether the components of a heterogeneous job, each of which passed check(), can ever run together.
  Status check_together(const std::vector<model::JobSpec>& specs) const;
  // The request that nodes would get, for messages and for records of waiting jobs.
  Result<sched::Request> request_for(const model::JobSpec& spec, const std::string& partition,
                                     uint32_t time_limit_minutes) const;

  // Sets the user of the request and the limits that apply to it.
  void apply_limits(const Job& job, const model::JobSpec& spec, sched::Request& request) const;

  uint32_t time_limit_of(const model::JobSpec& spec) const;  // minutes; of its first partition

  // For the first entries of the queue. Kept until the state changes, or for some seconds.
  std::shared_ptr<QueueForecast> forecast() const;
  int64_t expected_seconds(const Job& job) const;  // for which a waiting job will run
  // For a job that enters the queue at `from`, or is in it already. Nothing for a heterogeneous job's
  // component.
  std::optional<sched::ForecastInPieces> forecast_later(const Job& job, int64_t from, int64_t now,
                                                        const sched::ForecastOptions& options) const;
  // The same as if the job asked for `request` instead, in one partition. Nothing if it is not in the queue.
  std::optional<sched::ForecastInPieces> forecast_changed(const Job& job,
                                                          const sched::Request& request) const;
  // How a job that is not submitted would enter the queue. Both add its limits, and priority.
  Result<HypotheticalEntry> hypothetical_entry(Job& job, const std::string& partition) const;
  Result<HypotheticalEntry> hypothetical_entry(const std::vector<std::unique_ptr<Job>>& components) const;
  sched::WaitReasons wait_reasons() const;
  model::StateReason reason_of(const sched::WaitReasons& reasons, const Job& job) const;
  // launcher_is_missing(): nothing starts, because there is no launcher. reason_detail_of(): more about the
  // reason, in Slurm's words; empty: there is no more to say.
  bool launcher_is_missing() const;
  std::string reason_detail_of(const sched::WaitReasons& reasons, const Job& job) const;

  size_t queued() const { return queue_.size(); }

 private:
  void withhold_lost_gpus();
  // Goes on looking at what waits, for some milliseconds.
  void look_again();
  // What keeps a waiting job from the queue by itself; nothing if it may start.
  bool begins_later(const Job& job) const;
  std::optional<model::StateReason> obstacle(Job& job) const;
  // Updates the heterogeneous job of `job`: one entry, with its first component's id.
  void update_components(Job& job);
  Result<sched::Request> request_together(const std::vector<model::JobSpec>& specs) const;
  // Adds the limits to a request of a job that is not in the queue. Returns its priority in that partition.
  uint64_t enter_hypothetically(Job& job, sched::Request& request) const;
  void wait(Job& job, model::StateReason reason);
  int64_t core_now() const;
  void foresee_priority(Job& job);
  model::StateReason reason_of_problem(const Error& problem, const model::JobSpec& spec,
                                       const std::string& partition) const;
  // The request in the first partition that could take it; the error is that of the last partition.
  Result<sched::Request> first_request(const model::JobSpec& spec, const std::vector<std::string>& partitions,
                                       uint32_t time_limit_minutes) const;
  sched::RunKey start_component(Job& leader, const sched::Placement& placement, int64_t expected_end);
  // A start at `placement` has been decided. Sets the limit if --time-min made it shorter.
  int script_node_of(const Job& job, const sched::Placement& placement) const;
  // Books the CPU numbers of its record. Nodes without numbers, as in jobs of an older Minke, get some.
  void number_cpus(const Job& job);
  void take_place(Job& job, const std::string& partition, const sched::Placement& placement,
                  int64_t expected_end);
  void pass();
  sched::RunKey start(sched::EntryId entry, const sched::Placement& placement, int64_t expected_end);
  uint32_t startable(const Job& job) const;
  uint32_t user_of(const Job& job) const;  // the value for sched::NodeRules
  uint32_t priority_in(const Job& job, const std::string& partition) const;
  std::vector<sched::LicenseShare> licenses_of(const Job& job) const;

  Core& core_;
  sched::Machine& machine_;  // part of core.world, like the next two
  sched::PendingQueue& queue_;
  sched::RunningSet& running_;
  sched::CpuNumbers cpu_numbers_;
  bool pass_scheduled_ = false;
  // After limits have changed, what waits is looked at again, a slice at a time: from this job on.
  std::optional<uint32_t> look_from_;
  bool look_once_more_ = false;     // they have changed again meanwhile
  uint32_t kept_limit_groups_ = 0;  // Accounts::first_group() when it began
  bool paused_ = true;
  mutable std::shared_ptr<QueueForecast> forecast_;  // null: none, or the state has changed
  mutable int64_t forecast_time_ = 0;                // when it was begun
};

}  // namespace minke::engine
