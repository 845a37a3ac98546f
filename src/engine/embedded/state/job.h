// One job as the daemon holds it in memory: small, because hundreds of thousands may wait.
//
// What the user asked for (Submission) is immutable, kept in its serialised form, and shared by the tasks of
// an array; `scontrol update` gives the job another Submission. What only running jobs have is in Details.
// Jobs that ended are not in memory: the store has them. Owned by the state's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/embedded/state/task_set.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "model/usage.pb.h"
#include "os/event_loop.h"
#include "store/store.h"
#include "text/mail_type.h"

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::engine {

constexpr uint32_t kNoTask = 0xffffffff;
constexpr uint32_t kUnlimited = 0xffffffff;

// Of a spec, what short lists show and what the counts of nodes, tasks and CPUs follow from. 0: not given.
// The texts point into what it was read from.
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
  // Contents are shared by most submissions of a user: one string each for all of them (State interns them).
  std::shared_ptr<const store::ContentHash> script;
  std::shared_ptr<const store::ContentHash> environment;
  std::vector<std::string> partitions;  // at least one: those asked for, or the default one of the time
  bool uses_dependencies = false;
  bool any_dependency = false;  // "?": one of them is enough
  bool kill_on_invalid_dependency = false;
  bool interactive = false;
  bool overcommit = false;
  bool chooses_script_node = false;  // --batch
  int64_t deadline = 0;              // s since the epoch; 0: none
  uint32_t warning_signal = 0;       // --signal; 0: none
  uint32_t warning_seconds = 0;      // before the time limit
  bool warning_batch_only = false;
  uint16_t mail_types = 0;  // text::MailType

  model::JobSpec spec() const;
  BriefSpec brief_spec() const;  // a tenth of the work
};

// `script` and `environment` are left for the caller to set.
Submission make_submission(uint32_t spec_id, const model::JobSpec& spec,
                           const std::string& default_partition);

struct ArrayTasks {
  TaskSet waiting;           // not empty
  uint32_t max_running = 0;  // %N; 0: no throttle. As stored; ArrayGroup has the one in force.
};

// An interactive allocation lives as long as the process that asked for it.
struct Owner {
  int32_t pid = 0;
  uint64_t start_ticks = 0;  // since boot, from /proc/PID/stat: tells a reused pid
};

class OwnerWatch;

struct Details {
  Details();
  ~Details();

  std::string reason_detail;
  std::vector<model::Dependency> dependencies;  // with what has become of them
  google::protobuf::RepeatedPtrField<model::NodeAllocation> nodes;
  int script_node = 0;    // which of them runs the script
  std::string partition;  // the one it runs in
  model::Usage usage;     // of the steps that ended
  double billing = 0;     // units of what it holds; 0: its CPUs
  Owner owner;
  std::unique_ptr<OwnerWatch> owner_watch;
  std::unique_ptr<os::EventLoop::Timer> terminate_timer;  // when its processes are told to end
  uint32_t next_step_id = 0;
  int32_t batch_pid = 0;   // of the script's shell, while it runs
  bool launched = false;   // the launcher has been told, or has told us
  bool announced = false;  // this run's end, in the script's output
  // Of one that has been suspended: when it last was suspended or went on, how long it had run until then,
  // and how long it has been suspended in all (to which what passes while it is suspended is yet to be
  // added).
  int64_t suspend_time = 0;
  int64_t pre_suspend_seconds = 0;
  int64_t suspended_seconds = 0;
  // It has been told to give way to another: by then (s since the epoch; not stored; 0: it has not), and what
  // becomes of it.
  int64_t grace_end = 0;
  bool requeue_when_preempted = false;
  int64_t kill_time = 0;        // SIGKILL is due; 0: not being killed
  bool warned = false;          // --signal has been sent
  uint32_t mailed_percent = 0;  // of the time limit: the last mark that a mail told of
  bool requeue_when_ended = false;
  // How it will have ended, once it has: set when it is being stopped. JOB_PENDING: by its own exit code.
  model::JobState ending_as = model::JOB_PENDING;
  model::StateReason ending_reason = model::WAIT_NO_REASON;
};

// The state of a job. Everybody reads it; only a transition of Lifecycle writes it, which tells whoever keeps
// count, and State, which makes a job of what is stored.
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
  uint32_t array_job_id = 0;      // 0: not of an array
  uint32_t array_task = kNoTask;  // kNoTask with array_job_id set: the record of the tasks that wait
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t priority = 0;  // 0: held
  uint32_t time_limit_minutes = kUnlimited;
  uint32_t restarts = 0;
  uint32_t association = 0;    // charged for it; 0: none
  uint32_t qos = 0;            // 0: none
  uint32_t partition_qos = 0;  // of its first partition; 0: none
  uint32_t cancelled_by_uid = 0;
  uint32_t het_job_id = 0;  // of a heterogeneous job's first component; 0: not of such a job
  uint16_t het_offset = 0;  // of the component; its id is het_job_id + het_offset
  uint16_t het_size = 0;
  int32_t exit_code = 0;
  int32_t derived_exit_code = 0;
  CurrentState state;
  model::StateReason reason = model::WAIT_NO_REASON;
  bool completing = false;
  bool configuring =
      false;  // it has its nodes, and PrologSlurmctld runs (engine/embedded/launching/prologs.h)
  bool requeue_allowed = true;
  bool closes_record = false;   // it was the last task of a record of several, and has its id
  bool queued = false;          // in the scheduler's queue
  uint8_t choices = 1;          // at most so many entries there: its partitions, times its reservations
  bool special_exit = false;    // held after a requeue with State=SpecialExit
  bool committed = false;       // its submission is durable: it may start
  bool dirty = false;           // what the store has is older
  bool counted = false;         // in the ledger of Accounts
  bool fixed_priority = false;  // somebody has set it: no factors
  double static_priority = 0;   // of multifactor priority: what does not change with time
  int64_t submit_time = 0;
  int64_t eligible_time = 0;
  int64_t start_time = 0;
  int64_t end_time = 0;
  std::shared_ptr<const Submission> submission;
  std::unique_ptr<ArrayTasks> array;
  std::unique_ptr<Details> details;

  bool is_array_record() const { return array != nullptr; }
  bool is_het_leader() const { return het_job_id == id; }
  // A batch script is its to run. An allocation has none, nor have the further components of a heterogeneous
  // job.
  bool has_script() const { return submission->script != nullptr; }
  bool holds_nodes() const {
    return state == model::JOB_RUNNING || state == model::JOB_SUSPENDED || completing;
  }
  // s since the epoch at which it has to have given way to another; 0: it has not been asked to.
  int64_t grace_end() const { return details ? details->grace_end : 0; }
  bool has_node(const std::string& name) const;
  int64_t limit_end() const;  // s since the epoch at which its time limit is over; needs a limit and a start
  bool ended() const { return state >= model::JOB_COMPLETE; }
  // Its own exit code; 0 for one that was stopped, whatever with.
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
