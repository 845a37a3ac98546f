// The launcher in virtual time, with the machine that it runs on.
//
// Machine: the processes of jobs. They end at virtual times, survive a killed launcher, and die with the
// machine. It remembers every start of every program, because the invariants are checked against these.
//
// LauncherModel: one life of a launcher process. Table and journal are real (node/launch_table.h,
// node/journal.h). The rules are those of node/supervisor.h: a known launch never starts again, nothing
// starts that is not in the journal, launches of an earlier launcher are cleared away and lost, and an end
// is kept until it is collected.
//
// SimulatedLauncher: the daemon's side, in place of node::LauncherClient. Messages take time, and
// are lost when either side dies.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/embedded/simulation/time.h"
#include "node/journal.h"
#include "node/launch_table.h"
#include "node/launcher_client.h"

namespace minke::node {
class CollectOrder;
class EndJobOrder;
class Inventory;
class JournalRecord;
class LaunchOrder;
class LauncherMessage;
class SignalOrder;
}  // namespace minke::node

namespace minke::engine::simulation {

constexpr uint64_t kMicrosecondsOfTask = 1000;  // the usage that is reported for each task

// One start of a program, as a user would observe it.
struct Start {
  node::LaunchKey launch;
  uint32_t rank = 0;
  unsigned boot = 0;
  int64_t time = 0;      // s since the epoch
  bool executed = true;  // false: its script was damaged
  // The submission and the task's index. After a power cut another job may have the same number, because no
  // client had been told the first one.
  std::string task = {};
};

class Machine {
 public:
  using Clock = std::function<int64_t()>;  // s since the epoch
  Machine(Agenda& agenda, std::string home, Clock clock);

  const std::string& home() const { return home_; }
  Agenda& agenda() { return agenda_; }
  int64_t now() const { return clock_(); }
  std::string boot_id() const { return "boot-" + std::to_string(boot_); }
  unsigned boot() const { return boot_; }
  // Kills everything on it.
  void reboot();
  uint32_t take_pid() { return next_pid_++; }

  struct Process {
    node::LaunchKey launch;
    uint32_t position = 0;
    uint32_t pid = 0;
    bool stopped = false;
    int64_t term_grace = 0;  // s that it survives SIGTERM
    Agenda::Time left{0};    // time that it still has to run, while stopped
    Agenda::Time ends{0};
    int status = 0;  // wait(2) status of its own exit
  };
  // `script`: the content of the script file, or the words of the command.
  Process& start(const node::LaunchState& launch, uint32_t position, const std::string& script);
  void signal(uint32_t pid, int number);
  const std::map<uint32_t, Process>& processes() const { return processes_; }
  std::vector<uint32_t> pids_of(const node::JobKey& job) const;
  // Called for each end; the current launcher sets it.
  std::function<void(const Process& process, int status)> on_exit;

  const std::vector<Start>& starts() const { return starts_; }
  void note(const node::LaunchState& launch, uint32_t position, bool executed);

 private:
  void end(uint32_t pid, int status);
  void schedule(Process& process);

  Agenda& agenda_;
  std::string home_;
  Clock clock_;
  unsigned boot_ = 1;
  uint32_t next_pid_ = 1000;
  std::map<uint32_t, Process> processes_;
  std::vector<Start> starts_;
};

class LauncherModel {
 public:
  using Sink = std::function<void(const node::LauncherMessage&)>;
  static Result<std::unique_ptr<LauncherModel>> create(Machine& machine);
  ~LauncherModel();  // kills it: nothing is told or synced, and its jobs go on

  void set_daemon(Sink sink);
  void launch(node::LaunchOrder order);
  void signal(const node::SignalOrder& order);
  void end_job(const node::EndJobOrder& order);
  void collect(const node::CollectOrder& order);
  node::Inventory inventory() const;
  uint32_t pid() const { return pid_; }
  const node::LaunchTable& table() const { return table_; }

 private:
  struct Job {
    bool ending = false;
    bool of_earlier_launcher = false;
    bool asked_to_end = false;
    std::string tmp_dir;
    std::vector<node::LaunchKey> ended;
  };

  LauncherModel(Machine& machine, node::Journal journal, node::LaunchTable table, std::string journal_id);
  void recover();
  void record(const node::JournalRecord& record);
  void sync_soon();
  Status prepare(const node::LaunchOrder& order);
  void fail(node::LaunchState& launch, const Error& error);
  void start_tasks(node::LaunchState& launch, const node::LaunchOrder& order);
  void exited(const Machine::Process& process, int status);
  void launch_ended(node::LaunchState& launch);
  void begin_end(const node::JobKey& key);
  void clear(const node::JobKey& key);
  void finish(const node::JobKey& key);
  void tell_started(const node::LaunchState& launch);
  void tell_ended(const node::LaunchState& launch);

  Machine& machine_;
  node::LaunchTable table_;
  node::Journal journal_;
  const std::string journal_id_;
  Sink sink_;
  uint32_t pid_;
  std::map<node::JobKey, Job> jobs_;
  std::map<node::LaunchKey, std::vector<uint32_t>> pids_;  // by position; only processes that it started
  bool sync_scheduled_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The connection between daemon and launcher: the launcher's life, and whether one can be started.
struct LauncherHost {
  explicit LauncherHost(Machine& on) : machine(on) {}
  Machine& machine;
  std::unique_ptr<LauncherModel> launcher;  // null: there is none
  bool can_start = true;
  unsigned started = 0;                 // launchers so far
  std::function<Agenda::Time()> delay;  // of a message
  std::string problem;                  // why the last one could not start
  // Of the last daemon. What it sent arrives even after its death, until the next daemon connects.
  std::shared_ptr<bool> connection;
  std::function<void()> on_kill;  // the connected daemon's client

  void kill();  // SIGKILL to the launcher
};

std::unique_ptr<node::LauncherClient> make_simulated_launcher(os::EventLoop& loop, LauncherHost& host,
                                                              node::LauncherClient::Callbacks callbacks);

}  // namespace minke::engine::simulation
