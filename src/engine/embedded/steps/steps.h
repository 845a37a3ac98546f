// Steps: what srun runs inside a job's allocation.
//
// A step takes CPUs of its job that no other step holds, unless it overlaps. Without --exact it takes
// all CPUs of the job on its nodes, as in Slurm. A step that does not fit yet waits, in order. When the
// srun process that asked for a step is gone, the step is killed. Its end is reported once it is
// durable. The launcher keeps everything about a step that a restarted daemon needs. A repeated request
// finds its step by its key. State's thread.
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

namespace minke::store {
struct AccountedJob;
}  // namespace minke::store

namespace minke::engine {

struct Core;
class StepUsageReader;

class Steps : public RunListener {
 public:
  explicit Steps(Core& core) : core_(core) {}

  // Reports to the srun that asked. `client` identifies its connection, which may differ from a
  // later connection of the same srun.
  struct Report {
    const void* client = nullptr;
    std::function<void(const api::StepEvent& event)> tell;
    void operator()(const api::StepEvent& event) const {
      if (tell) tell(event);
    }
    explicit operator bool() const { return tell != nullptr; }
  };
  static constexpr size_t kKeyBytes = 16;
  // Errors are Slurm's. On success the step starts now or later, and `report` is called until StepEnded.
  Status create(const api::CreateStepRequest& request, std::vector<os::UniqueFd> descriptors,
                const Owner& owner, Report report);
  // The client is gone and gets no more reports of this step. The step goes on until its owner's process is
  // gone; a waiting step is dropped.
  void forget_report(uint32_t job_id, const std::string& key, const void* client);

  void step_launched(const node::Launch& launch) override;
  void step_task_ended(const node::Launch& launch) override;
  void step_ended(const node::Launch& launch) override;
  // The batch step stands for its job, and has no record if there is no other step.
  void script_ended(Job& job, const node::TaskEnd& end, int32_t status, int64_t end_time) override;
  // Restores a stored step: changes since its launch, and
  // whether it has ended, for recover().
  void restore(const model::StepRecord& record);
  void recover(const node::Launch& launch);
  // After the inventory: steps that the launcher does not know never ran, or are lost.
  void fail_unknown(const node::Inventory& inventory);

  // The job is being stopped: tells the sruns of its steps why. The caller sends the signals to the launcher.
  // An allocation without a script ends with its last step. False: no step runs.
  bool abort(const Job& job, const std::string& why);
  void job_ended(Job& job);       // ends its steps, whatever the launcher may still report
  void announce(const Job& job);  // tells their sruns that the steps are being ended
  void signal(const Job& job, uint32_t step_id, uint32_t signal);
  // Ends the step: SIGCONT and SIGTERM now, SIGKILL after KillWait.
  void cancel(const Job& job, uint32_t step_id);
  // Kills the tasks of the job's steps on a node that the job is about to lose.
  void leave(const Job& job, const std::string& node);
  // Changes the time limit of one running step, or of all of the job, until a restart; then the original
  // limit applies again. Error: no such step runs.
  Status set_time_limit(uint32_t job_id, std::optional<uint32_t> step_id, uint32_t minutes);
  // The running steps by number, at most `most` from step id `from` on.
  std::vector<model::StepRecord> of_job(uint32_t job_id, uint32_t from = 0, size_t most = SIZE_MAX) const;
  std::vector<pid_t> pids_of(uint32_t job_id) const;  // tasks of its running steps
  // Readers of the current usage of the same steps.
  std::vector<StepUsageReader> usage_of(const Job& job, uint32_t from, size_t most) const;
  // Makes the srun of a running step send the tasks' output also to the sattach
  // behind `socket`. `uid`: who asks.
  Status attach(const api::AttachStepRequest& request, uint32_t uid);
  bool has_running(uint32_t job_id) const;
  bool runs(uint32_t job_id, uint32_t step_id) const;

 private:
  // Charges to the user: `step` lasts as long as the step, the others until it has been launched.
  struct Charges {
    Budgets::Charge step, bytes, descriptors;
  };
  struct Step {
    StepTag tag;  // what it is and what it holds
    Report report;
    bool started = false;
    bool killed = false;
    bool out_of_time = false;
    bool out_of_memory = false;
    std::vector<pid_t> pids;  // by rank; 0: the task has ended
    bool announced = false;   // its end was reported on the srun's standard error
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
    Status refused = {};  // why it cannot start, unless it has ended
  };
  // Error: EAGAIN, and the budget that is used up.
  Result<Charges> charges_for(uint32_t uid, const api::CreateStepRequest& request, size_t descriptors);
  struct JobSteps {
    std::map<uint32_t, Step> running;
    std::deque<Waiting> waiting;
  };

  void collect(const node::LaunchId& id);  // once its outcome is durable
  // The launcher reports a step that, or whose run, is over. Collects it when the store has its record.
  void take_left_over(const node::Launch& launch, const Step& step);
  struct LeftOver;
  void find_left_over_in(const Result<std::vector<store::AccountedJob>>& chunk, LeftOver& left);
  // For a repeated request whose step does not run: it has ended or was never started.
  void find_ended(uint32_t uid, Waiting resent);
  // Handles one part of the store's answer; an empty one is the last.
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
  bool recovered_ = false;                                               // earlier runs are settled
};

}  // namespace minke::engine
