// Steps: what srun runs inside a job's allocation.
//
// A step takes CPUs of its job that no other step holds, unless it overlaps; without --exact it takes all of
// the job's CPUs on its nodes, as in Slurm. One that does not fit yet waits, in order. It lives as long as
// the srun that asked for it: when that process is gone, the step is killed. It is reported ended once its
// end is durable. A step's launch is known to the launcher with all that a restarted daemon needs; a request
// that is sent again finds its step by its key. State's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/steps.pb.h"
#include "base/result.h"
#include "engine/embedded/run_events.h"
#include "engine/embedded/server/budgets.h"
#include "engine/embedded/state/job.h"
#include "engine/embedded/state/tags.pb.h"
#include "engine/embedded/steps/step_layout.h"
#include "engine/embedded/watching/owner_watch.h"
#include "model/step_record.pb.h"
#include "os/event_loop.h"
#include "os/fd.h"
#include "store/store.h"

namespace minke::api {
class AttachStepRequest;
class StepUsageReply;
}  // namespace minke::api

namespace minke::model {
class GpuDevice;
}  // namespace minke::model

namespace minke::node {
class Inventory;
class Launch;
class LaunchId;
class LaunchOrder;
class TaskEnd;
}  // namespace minke::node

namespace minke::engine {

struct Core;
class UsageReader;

class Steps : public RunListener {
 public:
  explicit Steps(Core& core) : core_(core) {}

  // To the srun that asked. `client` tells its connection from others, also from a later one of the same
  // srun.
  struct Report {
    const void* client = nullptr;
    std::function<void(const api::StepEvent& event)> tell;
    void operator()(const api::StepEvent& event) const {
      if (tell) tell(event);
    }
    explicit operator bool() const { return tell != nullptr; }
  };
  static constexpr size_t kKeyBytes = 16;
  // Errors: Slurm's. Otherwise the step starts now or later, and `report` is called until StepEnded.
  Status create(const api::CreateStepRequest& request, std::vector<os::UniqueFd> descriptors,
                const Owner& owner, Report report);
  // The client went away: it is told no more of this step. The step goes on until the owner's process is
  // gone; one that still waits is given up.
  void forget_report(uint32_t job_id, const std::string& key, const void* client);

  void step_launched(const node::Launch& launch) override;
  void step_task_ended(const node::Launch& launch) override;
  void step_ended(const node::Launch& launch) override;
  // A batch step by itself is its job, and has no record where there is no other step.
  void script_ended(Job& job, const node::TaskEnd& end, int32_t status, int64_t end_time) override;
  // As stored: what was changed of a step since it was launched, and that it has ended, for when it is
  // recovered.
  void restore(const model::StepRecord& record);
  void recover(const node::Launch& launch);
  // After the inventory: those that the launcher does not know never ran, or are lost.
  void fail_unknown(const node::Inventory& inventory);

  // The job is being stopped: the sruns of its steps are told, and why. The launcher gets the signals from
  // the caller; when the last step has ended, an allocation without a script ends. False where no step runs.
  bool abort(const Job& job, const std::string& why);
  void job_ended(Job& job);       // its steps end with it, whatever the launcher still has to say
  void announce(const Job& job);  // to their sruns: its steps are told to end
  void signal(const Job& job, uint32_t step_id, uint32_t signal);
  // Ends it: SIGCONT and SIGTERM now, SIGKILL after KillWait.
  void cancel(const Job& job, uint32_t step_id);
  // Kills what steps of the job run on a node that is about to be no longer the job's.
  void leave(const Job& job, const std::string& node);
  // Changes the time limit of a running step, or of all of the job's; until a restart, after which the one
  // they began with holds again. Fails where no such step runs.
  Status set_time_limit(uint32_t job_id, std::optional<uint32_t> step_id, uint32_t minutes);
  // Those that run, by number; `from`: the first that is meant, and so many at most.
  std::vector<model::StepRecord> of_job(uint32_t job_id, uint32_t from = 0, size_t most = SIZE_MAX) const;
  std::vector<pid_t> pids_of(uint32_t job_id) const;  // of the tasks of its running steps
  // What the running steps of a job use now; the same of them.
  void add_usage(const Job& job, const UsageReader& reader, api::StepUsageReply& reply, uint32_t from = 0,
                 size_t most = SIZE_MAX) const;
  // Has the srun of a running step show the tasks' output to the sattach behind `socket` as well. `uid`: who
  // asks.
  Status attach(const api::AttachStepRequest& request, uint32_t uid);
  bool has_running(uint32_t job_id) const;
  bool runs(uint32_t job_id, uint32_t step_id) const;

 private:
  // What its user is charged for: the step while there is one, the rest until it has been launched.
  struct Charges {
    Budgets::Charge step, bytes, descriptors;
  };
  struct Step {
    StepTag tag;  // what it is, and what it holds
    Report report;
    bool started = false;
    bool killed = false;
    bool out_of_time = false;
    bool out_of_memory = false;
    std::vector<pid_t> pids;  // by rank; 0: the task has ended
    bool announced = false;   // its end, on the srun's standard error
    std::unique_ptr<OwnerWatch> owner_watch;
    std::unique_ptr<os::EventLoop::Timer> kill_timer;
    std::unique_ptr<os::EventLoop::Timer> limit_timer;  // of its own time limit
    Charges charges;
  };
  struct Waiting {
    api::CreateStepRequest request = {};
    std::vector<os::UniqueFd> descriptors = {};
    Owner owner;
    Report report;
    Charges charges = {};
    Status refused = {};  // why it cannot begin, if it has not ended
  };
  // Error: EAGAIN, and which budget is used up.
  Result<Charges> charges_for(uint32_t uid, const api::CreateStepRequest& request, size_t descriptors);
  struct JobSteps {
    std::map<uint32_t, Step> running;
    std::deque<Waiting> waiting;
  };

  void collect(const node::LaunchId& id);  // once what is known of its end is durable
  // The launcher has a step that is over, or whose run is: it is collected when the store has its record.
  void take_left_over(const node::Launch& launch, const Step& step);
  struct LeftOver;
  void find_left_over_in(const Result<std::vector<store::AccountedJob>>& chunk, LeftOver& left);
  // Asked for again, and not running: it has ended, or never began.
  void find_ended(uint32_t uid, Waiting resent);
  // One part of the store's answer; an empty one is the last.
  void find_ended_in(const Result<std::vector<store::AccountedJob>>& chunk, Waiting& waiting, bool& found);
  Status create_new(Job& running, Waiting waiting);
  static void add_held(const StepTag& tag, StepNode& node);
  std::vector<StepNode> nodes_of(const Job& job, const JobSteps& steps) const;
  Step& start(Job& job, Waiting waiting, const StepLayout& layout);
  uint32_t take_step_id(Job& job, const api::StepSpec& spec);
  static std::vector<std::string> write_holdings(const Job& job, const api::StepSpec& spec,
                                                 const StepLayout& layout, StepTag& tag);
  void launch_after_prolog(Job& job, const std::vector<std::string>& nodes, node::LaunchOrder made,
                           std::vector<os::UniqueFd> with);
  static model::StepRecord ended_record(const Step& step, const node::Launch& launch, const Job* job);
  node::LaunchOrder order_of(const Job& job, const api::StepSpec& spec, const Step& step,
                             const StepLayout& layout);
  void start_waiting(uint32_t job_id);
  // `used`: the number of a step of this job.
  void skip_step_ids_to(Job& job, uint32_t used);
  void watch_owner(Step& step);
  void watch_time_limit(Step& step);
  void time_out(uint32_t job_id, uint32_t step_id);
  void terminate(const Job& job, uint32_t step_id, Step& step);
  void announce(Step& step, const std::string& why = "");
  void tell_abort(Step& step);
  Step* find(const node::LaunchId& id);
  std::vector<model::GpuDevice> gpu_devices_of(const Job& job, const Step& step) const;
  static api::StepEvent started_event(const Step& step);
  void report(Step& step, const api::StepEvent& event);

  Core& core_;
  std::map<uint32_t, JobSteps> jobs_;
  std::map<std::pair<uint32_t, uint32_t>, model::StepRecord> restored_;  // by job and step, until recovered
  bool recovered_ = false;                                               // what ran when this daemon came
};

}  // namespace minke::engine
