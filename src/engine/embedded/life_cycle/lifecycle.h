// Lifecycle: the transitions of a job from pending to ended. Nothing else changes `Job::state`.
//
// Each transition marks the job for the committer, books or frees resources, and sends an event of
// job_events.h. Cancelling a running job sends SIGCONT and SIGTERM, then SIGKILL after KillWait. The job
// counts as ended when the launcher reports that none of its processes is left. State's thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "engine/embedded/cluster_events.h"
#include "engine/embedded/job_events.h"
#include "engine/embedded/run_events.h"

namespace minke::model {
class JobRecord;
enum JobState : int;
enum StateReason : int;
}  // namespace minke::model

namespace minke::engine {

struct Core;

class Lifecycle : public RunListener, public ClusterListener {
 public:
  explicit Lifecycle(Core& core) : core_(core) {}

  void started(Job& job);  // resources are booked, details.nodes and details.partition set
  // The stored job waits, but an earlier daemon has started it and was killed before the start was durable.
  // `record`: the job as it was started (node/launch.proto: the launch's tag).
  void adopt_start(Job& job, const model::JobRecord& record);
  // None of its processes has run: its launch failed for a shortage (engine/embedded/launching/shortages.h),
  // or never reached the launcher. The job waits as before.
  void wait_again(Job& job);
  // The job's processes were lost, and possible remains must be killed first. Then it ends as NODE_FAIL, or
  // waits again if that is allowed.
  void lost(Job& job, const std::string& detail);
  // Starts its script, or tells its owner.
  void prologs_over(Job& job) override;
  // Requeues the job, held if `hold` is set. A job that cannot be requeued ends.
  void prolog_failed(Job& job, bool launched, bool hold) override;
  void epilogs_over(Job& job, model::JobState state, model::StateReason reason, int32_t exit_code,
                    int64_t end_time) override {
    conclude(job, state, reason, exit_code, end_time);
  }
  void launch_lacked(Job& job, const std::string&) override { wait_again(job); }
  void launch_failed(Job& job, const std::string& problem, int64_t time) override;
  void script_ended(Job& job, const node::TaskEnd&, int32_t status, int64_t end_time) override {
    ended(job, status, end_time);
  }
  void run_lost(Job& job, const std::string& why, int64_t time) override;
  void nothing_left(Job& job, int32_t exit_code) override;

  // A node was taken down. Jobs on it end with NODE_FAIL, or are requeued if that is allowed. With --no-kill,
  // a job that has other nodes goes on.
  void node_down(const std::string& node) override;
  void partition_changed(const model::PartitionRecord& partition, bool recount) override;  // OverTimeLimit
  void reservation_ended(Job& job) override { time_out(job); }
  // Another job needs its resources. It gets SIGCONT and SIGTERM, and after its GraceTime it is PREEMPTED.
  void ask_to_give_way(Job& job, int64_t grace_end, bool requeue);

  // Stops a job: a pending one ends at once, a running one when its processes are gone.
  void cancel(Job& job, uint32_t by_uid);
  void stop(Job& job, model::JobState ending_as, model::StateReason reason, bool at_once);
  void signal(Job& job, uint32_t signal, bool batch_only, bool full, bool steps_only);

  // Errors are Slurm's: for example, a job that has ended cannot be held.
  Status hold(Job& job, bool by_user);
  Status release(Job& job);
  // Also requeues an ended job. `special_exit`: hold it as SPECIAL_EXIT.
  Status requeue(Job& job, bool then_hold, bool special_exit);
  // Stops and continues all its processes. Meanwhile the time limit stands still; the job keeps its nodes.
  Status suspend(Job& job);
  Status resume(Job& job);

  // Cancels an interactive job when its owner is gone.
  void watch_owner(Job& job);
  // The owner returns its allocation. `status`: the wait(2) status of the program that it ran.
  Status complete_allocation(Job& job, int32_t status);

  void alarm(uint32_t job_id);
  int64_t tolerated_seconds(
      const Job& job) const;  // time beyond the limit that its partition's OverTimeLimit grants
  void set_alarm(Job& job);   // for the next time at which something falls due

 private:
  // The batch script ended (or an allocation was returned) and none of the job's processes is left.
  void ended(Job& job, int32_t exit_code, int64_t end_time);
  void time_out(Job& job);  // its time limit or its reservation is over
  // The changes of every start. details.nodes and details.partition must be set.
  void enter_running(Job& job, int64_t start_time, JobListener::Start how);
  void terminate(const Job& job);  // sends SIGTERM to all its processes
  // The job's processes, or the means to run them, were lost.
  void failed(Job& job, model::JobState state, model::StateReason reason, const std::string& detail,
              int64_t end_time);
  void node_failed(Job& job, const std::string& node);
  // Its epilogs are over too.
  void conclude(Job& job, model::JobState state, model::StateReason reason, int32_t exit_code,
                int64_t end_time);
  void finish(Job& job, model::JobState state, model::StateReason reason, int32_t exit_code,
              int64_t end_time);
  void give_way(Job& job);
  void back_to_queue(Job& job);
  void end_components(const Job& leader);  // of a heterogeneous job: they end like its first component
  void requeue_components(const Job& leader);
  void count_suspension(Job& job);  // adds the time since it was suspended
  // Latest start (s since the epoch) with which it can end before its deadline; 0: it has no deadline.
  int64_t last_start(const Job& job) const;
  void count_in_array(const Job& job);

  Core& core_;
};

}  // namespace minke::engine
