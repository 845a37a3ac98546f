// From pending to ended: the transitions of a job, and nothing else that changes `Job::state`.
//
// Each transition marks the job for the committer, frees or books resources, and tells an event of
// engine/embedded/job_events.h. Cancelling a running job sends it SIGCONT and SIGTERM, then SIGKILL after
// KillWait; it counts as ended when the launcher says that nothing of it is left. State's thread.
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
  // It waits, by the store; but an earlier daemon has started it, and was killed before that was durable.
  // `record`: the job as it was started (node/launch.proto: the launch's tag).
  void adopt_start(Job& job, const model::JobRecord& record);
  // Nothing of it has run: its launch failed for a shortage (engine/embedded/launching/shortages.h), or never
  // came to the launcher. It waits as it did before.
  void wait_again(Job& job);
  // Its processes were lost, and what may be left of them is to be killed before anything else: it ends as
  // NODE_FAIL, or waits again where that is allowed.
  void lost(Job& job, const std::string& detail);
  // Its script runs, or its owner is told.
  void prologs_over(Job& job) override;
  // Back to the queue, there to be held where `hold` says so; what cannot be requeued ends.
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

  // A node was taken down: jobs that run on it end with NODE_FAIL, or go back to the queue where that is
  // allowed. With --no-kill, one of several nodes does not end a job.
  void node_down(const std::string& node) override;
  void partition_changed(const model::PartitionRecord& partition, bool recount) override;  // OverTimeLimit
  void reservation_ended(Job& job) override { time_out(job); }
  // Another needs what it has: after its GraceTime, which SIGCONT and SIGTERM tell it of, it is PREEMPTED.
  void ask_to_give_way(Job& job, int64_t grace_end, bool requeue);

  // Stops a job: pending ones end at once, running ones when their processes are gone.
  void cancel(Job& job, uint32_t by_uid);
  void stop(Job& job, model::JobState ending_as, model::StateReason reason, bool at_once);
  void signal(Job& job, uint32_t signal, bool batch_only, bool full, bool steps_only);

  // kInvalid codes as in Slurm: a job that ended cannot be held, and so on.
  Status hold(Job& job, bool by_user);
  Status release(Job& job);
  // Also of one that has ended; `special_exit`: to be held as SPECIAL_EXIT.
  Status requeue(Job& job, bool then_hold, bool special_exit);
  // Stops all its processes, and lets them go on. The time limit stands still; the nodes stay its own.
  Status suspend(Job& job);
  Status resume(Job& job);

  // An interactive job whose owner is gone is cancelled.
  void watch_owner(Job& job);
  // The owner gives its allocation back; `status` is the wait(2) status of what it ran.
  Status complete_allocation(Job& job, int32_t status);

  void alarm(uint32_t job_id);
  int64_t tolerated_seconds(
      const Job& job) const;  // of a partition with OverTimeLimit: beyond the time limit
  void set_alarm(Job& job);   // the next time at which something falls due for it

 private:
  // The batch script ended (or an allocation was given back) and nothing of the job is left.
  void ended(Job& job, int32_t exit_code, int64_t end_time);
  void time_out(Job& job);  // its limit is over, or the reservation that it runs in
  // What a start changes, whoever has made it; details.nodes and details.partition are set.
  void enter_running(Job& job, int64_t start_time, JobListener::Start how);
  void terminate(const Job& job);  // SIGTERM to all of its processes
  // Its processes, or the means to run them, were lost.
  void failed(Job& job, model::JobState state, model::StateReason reason, const std::string& detail,
              int64_t end_time);
  void node_failed(Job& job, const std::string& node);
  // Its epilogs are over, too.
  void conclude(Job& job, model::JobState state, model::StateReason reason, int32_t exit_code,
                int64_t end_time);
  void finish(Job& job, model::JobState state, model::StateReason reason, int32_t exit_code,
              int64_t end_time);
  void give_way(Job& job);
  void back_to_queue(Job& job);
  void end_components(const Job& leader);  // of a heterogeneous job: they end with the first, and like it
  void requeue_components(const Job& leader);
  void count_suspension(Job& job);  // what has passed since it was suspended
  // After this time (s since the epoch) it could not end before its deadline; 0: it has none.
  int64_t last_start(const Job& job) const;
  void count_in_array(const Job& job);

  Core& core_;
};

}  // namespace minke::engine
