// Orders to the launcher, and what comes back.
//
// The first run of a job that may be requeued is launched while its start is still being committed: should
// the machine lose power in between, the job runs again, which is what --requeue means. Any other is launched
// only when its start is durable: a job that may not be requeued is never started twice, and no run twice.
// Either way the launcher's journal knows what has been started, and a restarted daemon asks it before it
// schedules anything.
//
// What is ordered of a job's processes follows from what is known of the job: that it is cancelled, over its
// time, suspended no more. So such an order leaves only when that is stored, and a daemon that finds the
// processes ended knows why. Where nothing can be stored it leaves nevertheless: the job may be what fills
// the disk. State's thread.
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

// What stands in front of the launcher's own words on a task's standard error, as Slurm's users know it.
inline constexpr char kErrorPrefix[] = "slurmstepd: error: ";

class Launching {
 public:
  explicit Launching(Core& core) : core_(core) {}

  // Of what the launcher reports of launches; its inventory, and that it is gone, are
  // engine/embedded/recovery.h's.
  node::LauncherClient::Callbacks callbacks();
  // What the launcher said of itself and of what the kernel lets it do.
  const node::Inventory& machine() const { return machine_; }
  void set_machine(const node::Inventory& inventory);

  void launch(Job& job);                  // a batch job that has just started
  void begin_allocation(const Job& job);  // an interactive job has started
  // Orders to its processes: what they follow from is noted of the job before.
  void end_allocation(const Job& job);  // an interactive one that is over: kill what is left of it
  void signal(const Job& job, uint32_t signal, node::SignalOrder::Target target, uint32_t step_id = 0);
  void kill_tasks(const Job& job, uint32_t step_id, const std::vector<uint32_t>& ranks);
  // A line on the standard error of a batch job that runs.
  void say(const Job& job, const std::string& message);
  // The line that Slurm writes to a job's standard error when it stops it.
  void announce(Job& job, const std::string& why);

  // What the launcher says of a script: its first process, and that it has ended, or never began.
  void note_pid(const node::Launch& launch);
  void take_end(const node::Launch& launch);
  // It may forget the launch, once what is known of it here is durable.
  void collect(const node::LaunchId& id);

  // Removes the spooled scripts that no job in memory needs; they are written again from the store where one
  // does.
  void clear_spool();

  std::string tmp_dir_of(const Job& job) const;
  // In bytes; 0: none. On one node, and of all of the job.
  uint64_t memory_limit_of(const model::NodeAllocation& node) const;
  uint64_t memory_limit_of(const Job& job) const;
  // What the job finds besides where it is a heterogeneous one: SLURM_HET_SIZE, and each component's
  // variables with _HET_GROUP_n behind their names.
  std::vector<std::string> het_environment(const Job& job) const;
  environment::JobSurroundings surroundings(const Job& job, const model::JobSpec& spec) const;
  // What a launch has beside its own variables, whatever it is: tiers of storage, modules, and what several
  // nodes on one machine need. `block`: the user's environment.
  void add_common(const Job& job, std::string_view block, std::vector<std::string>& variables) const;

 private:
  struct SpooledScript {
    std::string path;
    std::string
        data_lines;  // the file that `minke staged-script` reads its #MINKE lines from; empty: it has none
  };
  // Once what is noted of the job is stored: in the order in which they are given.
  void tell_processes(const Job& job, std::function<void()> order);
  void signal(const Job& job, node::SignalOrder order);
  void send(Job& job);
  node::LaunchOrder order_of(const Job& job, const SpooledScript& script, const std::string& block);
  void make_stage_cache(const Job& job) const;
  std::vector<std::string> script_variables(const Job& job, const model::JobRecord& record,
                                            std::string_view block) const;
  // Nothing of it has run.
  void launch_failed(Job& job, const Error& error, int64_t time);
  void on_job_ended(const node::JobEnded& ended);
  Result<SpooledScript> spooled_script(const Job& job);
  Result<std::shared_ptr<const std::string>> environment_of(const Job& job);

  // A program may make the directories of its job's files only when it has been told the job's number
  // (submitit does): a launch that finds no such directory right after the submission is sent again a little
  // later.
  bool may_be_too_early(const Job& job, const std::string& launch_error) const;
  void send_later(Job& job);
  void send_again();

  Core& core_;
  std::vector<std::pair<uint32_t, uint32_t>> send_again_;  // job id, restarts
  std::unique_ptr<os::EventLoop::Timer> send_again_timer_;
  node::Inventory machine_;  // without its launches
  // Directories of the spool that are known to be as they should be, and whether their scripts bring data.
  std::unordered_map<std::string, bool> spooled_;
  unsigned spooled_since_clearing_ = 0;
  // The environments used last: many jobs in a row come from one shell.
  std::vector<std::pair<std::shared_ptr<const store::ContentHash>, std::shared_ptr<const std::string>>>
      environments_;
};

}  // namespace minke::engine
