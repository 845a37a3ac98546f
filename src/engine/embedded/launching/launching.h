// Launching: sends orders to the launcher and handles its reports.
//
// The first run of a job that may be requeued is launched while its start is still being committed. If
// the machine loses power in between, the job runs again, as --requeue permits. Every other run is
// launched only when its start is durable. So a job that may not be requeued never starts twice, and no
// run starts twice. The launcher's journal records every start, and a restarted daemon reads the
// inventory before it schedules anything.
//
// Orders to a job's processes follow from what is recorded of the job: it was cancelled, is over its time,
// is suspended. Such an order is sent only when that record is stored, so that a daemon that finds the
// processes ended knows why. If nothing can be stored, the order is sent anyway, because this job may be
// what fills the disk. State's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/embedded/state/job.h"
#include "environment/job_environment.h"
#include "node/launch.pb.h"
#include "node/launcher_client.h"

namespace minke::model {
class JobSpec;
class NodeAllocation;
}  // namespace minke::model

namespace minke::engine {

struct Core;

// The prefix of the launcher's messages on a task's standard error, as in Slurm.
inline constexpr char kErrorPrefix[] = "slurmstepd: error: ";

class Launching {
 public:
  explicit Launching(Core& core) : core_(core) {}

  // Callbacks for reports of launches. Recovery (engine/embedded/recovery.h) handles the
  // inventory and a lost launcher.
  node::LauncherClient::Callbacks callbacks();
  // The launcher's description of itself and of what the kernel allows it.
  const node::Inventory& machine() const { return machine_; }
  void set_machine(const node::Inventory& inventory);

  void launch(Job& job);                  // a batch job that has just started
  void begin_allocation(const Job& job);  // an interactive job that has just started
  // Orders to the job's processes. Record their reason in the job before.
  void end_allocation(const Job& job);  // kills what is left of an interactive job that is over
  void signal(const Job& job, uint32_t signal, node::SignalOrder::Target target, uint32_t step_id = 0);
  void kill_tasks(const Job& job, uint32_t step_id, const std::vector<uint32_t>& ranks);
  // Writes a line to the standard error of a running batch job.
  void say(const Job& job, const std::string& message);
  // Writes the line that Slurm writes to a job's standard error when it stops the job.
  void announce(Job& job, const std::string& why);

  // Reports of the launcher on a script: its first process, and its end or failed start.
  void note_pid(const node::Launch& launch);
  void take_end(const node::Launch& launch);
  // Lets the launcher forget the launch, once its outcome is durable here.
  void collect(const node::LaunchId& id);

  // Removes spooled scripts that no job in memory needs. If one is needed later, it
  // is written again from the store.
  void clear_spool();

  std::string tmp_dir_of(const Job& job) const;
  // In bytes; 0: none. On one node, and in total over the job's nodes.
  uint64_t memory_limit_of(const model::NodeAllocation& node) const;
  uint64_t memory_limit_of(const Job& job) const;
  // Additional variables of a heterogeneous job: SLURM_HET_SIZE, and the variables of each
  // component with the suffix _HET_GROUP_n.
  std::vector<std::string> het_environment(const Job& job) const;
  environment::JobSurroundings surroundings(const Job& job, const model::JobSpec& spec) const;
  environment::Projects projects_of(const Job& job) const;
  // Adds variables that every launch has: storage tiers, modules, and those for several nodes on one machine.
  // `block`: the user's environment.
  void add_common(const Job& job, std::string_view block, std::vector<std::string>& variables) const;

 private:
  struct SpooledScript {
    std::string path;
    std::string
        data_lines;  // the file that `minke staged-script` reads its #MINKE lines from; empty: it has none
  };
  // Sends `order` once the recorded changes of the job are stored, in the order of the calls.
  void tell_processes(const Job& job, std::function<void()> order);
  void signal(const Job& job, node::SignalOrder order);
  void send(Job& job);
  node::LaunchOrder order_of(const Job& job, const SpooledScript& script, const std::string& block);
  void make_stage_cache(const Job& job) const;
  std::vector<std::string> script_variables(const Job& job, const model::JobRecord& record,
                                            std::string_view block) const;
  // The launch failed and none of its processes has run.
  void launch_failed(Job& job, const Error& error, int64_t time);
  void on_job_ended(const node::JobEnded& ended);
  Result<SpooledScript> spooled_script(const Job& job);
  Result<std::shared_ptr<const std::string>> environment_of(const Job& job);

  // A client may create the directories of its job's files only after it knows the job's number
  // (submitit does this). So if such a directory is missing right after the submission, the
  // launch is repeated a little later.
  bool may_be_too_early(const Job& job, const std::string& launch_error) const;
  void send_later(Job& job);
  void send_again();

  Core& core_;
  std::vector<std::pair<uint32_t, uint32_t>> send_again_;  // job id, restarts
  std::unique_ptr<os::EventLoop::Timer> send_again_timer_;
  node::Inventory machine_;  // without its launches
  // Spool directories that were checked, and whether their scripts have staging data.
  std::unordered_map<std::string, bool> spooled_;
  unsigned spooled_since_clearing_ = 0;
  // The environments used last, because consecutive jobs often come from one shell.
  std::vector<std::pair<std::shared_ptr<const store::ContentHash>, std::shared_ptr<const std::string>>>
      environments_;
};

}  // namespace minke::engine
