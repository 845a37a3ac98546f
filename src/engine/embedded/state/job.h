// Job: one job in the daemon's memory. It is small, because hundreds of thousands may wait.
//
// Submission, what the user asked for, is immutable, serialised, and shared by the tasks of an array;
// `scontrol update` gives the job another one. Details has what only running jobs need. Ended jobs are not in
// memory; the store has them. Owned by the state's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/embedded/state/task_set.h"
#include "model/allocation.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "model/usage.pb.h"
#include "os/event_loop.h"
#include "store/content_hash.h"
#include "text/mail_type.h"

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::engine {

constexpr uint32_t kNoTask = 0xffffffff;
constexpr uint32_t kUnlimited = 0xffffffff;

// The fields of a spec that short lists show and that determine the counts of nodes, tasks and CPUs. 0: not
// given. The texts point into the spec that they were read from.
struct BriefSpec {
  std::string_view name, account, partition, qos;
  int64_t begin_time = 0;
  uint32_t min_nodes = 0, max_nodes = 0, ntasks = 0, cpus_per_task = 0, ntasks_per_node = 0, min_cpus = 0;
  bool exclusive = false, overcommit = false;

  static BriefSpec of(const model::JobSpec& spec);
};

struct Submission {
  uint32_t spec_id = 0;
  std::string spec_bytes;  // a serialised model::JobSpec
  // Most submissions of a user share these contents, so State interns them: one string for all.
  std::shared_ptr<const store::ContentHash> script;
  std::shared_ptr<const store::ContentHash> environment;
  std::vector<std::string> partitions;  // at least one: the requested ones, or the default at submission
  bool uses_dependencies = false;
  bool any_dependency = false;  // "?": one fulfilled dependency is enough
  bool kill_on_invalid_dependency = false;
  bool interactive = false;
  bool overcommit = false;
  bool chooses_script_node = false;  // --batch
  int64_t deadline = 0;              // s since the epoch; 0: none
  uint32_t warning_signal = 0;       // --signal; 0: none
  uint32_t warning_seconds = 0;      // before the time limit
  bool warning_batch_only = false;
  uint16_t mail_types = 0;  // text::MailType
  std::string cron;         // the times of a crontab's job (text/cron.h); empty: it is of none

  model::JobSpec spec() const;
  BriefSpec brief_spec() const;  // ten times cheaper than spec()
};

// Leaves `script` and `environment` to the caller.
Submission make_submission(uint32_t spec_id, const model::JobSpec& spec,
                           const std::string& default_partition);

struct ArrayTasks {
  TaskSet waiting;           // not empty
  uint32_t max_running = 0;  // %N; 0: no throttle. As stored; ArrayGroup has the current one
};

// The process that asked for an interactive allocation, which lives as long as the process.
struct Owner {
  int32_t pid = 0;
  uint64_t start_ticks = 0;  // since boot, from /proc/PID/stat: reveals a reused pid
};

class OwnerWatch;

struct Details {
  Details();
  ~Details();

  std::string reason_detail;
  std::vector<model::Dependency> dependencies;  // with their current state
  google::protobuf::RepeatedPtrField<model::NodeAllocation> nodes;
  int script_node = 0;         // index of the node that runs the script
  std::string partition;       // the one it runs in
  std::string licenses_alloc;  // which it got, where it requested "a|b"; else empty
  model::Usage usage;          // of its ended steps
  double billing = 0;          // billing units of its resources; 0: its number of CPUs
  Owner owner;
  std::unique_ptr<OwnerWatch> owner_watch;
  std::unique_ptr<os::EventLoop::Timer> terminate_timer;  // for telling its processes to end
  uint32_t next_step_id = 0;
  int32_t batch_pid = 0;   // the script's shell, while it runs
  bool launched = false;   // the launcher has the order, or has reported the launch
  bool announced = false;  // the end of this run was written to the script's output
  // For a job that was ever suspended: when it last was suspended or resumed, how
  // long it had run until then, and for how long it was suspended in total,
  // without a suspension in progress.
  int64_t suspend_time = 0;
  int64_t pre_suspend_seconds = 0;
  int64_t suspended_seconds = 0;
  // It was told to give way to another job: its deadline (s since the epoch; not stored; 0: it was not told),
  // and whether it is requeued then.
  int64_t grace_end = 0;
  bool requeue_when_preempted = false;
  int64_t kill_time = 0;        // when SIGKILL is due; 0: it is not being killed
  bool warned = false;          // --signal has been sent
  uint32_t mailed_percent = 0;  // of the time limit: the last mark for which mail was sent
  bool requeue_when_ended = false;
  // The state with which it will end; set when it is being stopped. JOB_PENDING: by its own exit code.
  model::JobState ending_as = model::JOB_PENDING;
  model::StateReason ending_reason = model::WAIT_NO_REASON;
};

// The state of a job. Everybody may read it. Only transitions of Lifecycle, which send the events, and State,
// which loads stored jobs, write it.
class CurrentState {
 public:
  CurrentState() = default;
  CurrentState(const CurrentState&) = delete;
  CurrentState& operator=(const CurrentState&) = delete;
  operator model::JobState() const { return value_; }

 private:
  friend class Lifecycle;
  friend class State;
  CurrentState& operator=(model::JobState value) {
    value_ = value;
    return *this;
  }

  model::JobState value_ = model::JOB_PENDING;
};

struct Job {
  uint32_t id = 0;
  uint32_t array_job_id = 0;      // 0: not in an array
  uint32_t array_task = kNoTask;  // kNoTask if array_job_id is set: the record of the waiting tasks
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t priority = 0;  // 0: held
  uint32_t time_limit_minutes = kUnlimited;
  uint32_t restarts = 0;
  uint32_t association = 0;    // that it is charged to; 0: none
  uint32_t qos = 0;            // 0: none
  uint32_t partition_qos = 0;  // of its first partition; 0: none
  uint32_t cancelled_by_uid = 0;
  uint32_t het_job_id = 0;  // id of the first component; 0: not a heterogeneous job
  uint16_t het_offset = 0;  // the component's; its id is het_job_id + het_offset
  uint16_t het_size = 0;
  int32_t exit_code = 0;
  int32_t derived_exit_code = 0;
  CurrentState state;
  model::StateReason reason = model::WAIT_NO_REASON;
  bool completing = false;
  bool configuring =
      false;             // it has its nodes, and PrologSlurmctld runs (engine/embedded/launching/prologs.h)
  bool stopped = false;  // runs, but SIGSTOP holds its processes until SIGCONT
  bool requeue_allowed = true;
  bool closes_record = false;   // was the last task of a record of several, and has its id
  bool queued = false;          // in the scheduler's queue
  uint8_t choices = 1;          // the most entries it has there: partitions times reservations
  bool special_exit = false;    // held after a requeue with State=SpecialExit
  bool committed = false;       // its submission is durable, so it may start
  bool dirty = false;           // the store has an older state
  bool counted = false;         // in the ledger of Accounts
  bool fixed_priority = false;  // somebody has set it: factors do not change it
  double static_priority = 0;   // multifactor priority: the part that time does not change
  int64_t submit_time = 0;
  int64_t eligible_time = 0;
  int64_t start_time = 0;
  int64_t end_time = 0;
  std::shared_ptr<const Submission> submission;
  std::unique_ptr<ArrayTasks> array;
  std::unique_ptr<Details> details;

  bool is_array_record() const { return array != nullptr; }
  bool is_het_leader() const { return het_job_id == id; }
  // Whether it runs a batch script. Allocations have none, nor have the further
  // components of heterogeneous jobs.
  bool has_script() const { return submission->script != nullptr; }
  bool holds_nodes() const {
    return state == model::JOB_RUNNING || state == model::JOB_SUSPENDED || completing;
  }
  // The time (s since the epoch) until which it must give way to another job; 0: it was not asked to.
  int64_t grace_end() const { return details ? details->grace_end : 0; }
  bool has_node(const std::string& name) const;
  int64_t limit_end() const;  // end of its time limit, s since the epoch; needs a limit and a start
  bool ended() const { return state >= model::JOB_COMPLETE; }
  // Its own exit code; 0 if it was stopped in any way.
  int32_t own_exit_code() const {
    return state == model::JOB_COMPLETE || state == model::JOB_FAILED || state == model::JOB_OOM ? exit_code
                                                                                                 : 0;
  }
  Details& need_details() {
    if (!details) details = std::make_unique<Details>();
    return *details;
  }
};

bool asks_for_gpus(const model::JobSpec& spec);

}  // namespace minke::engine
