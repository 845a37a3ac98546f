// Supervisor: the launcher without its communication. It carries out the daemon's orders and follows its
// child processes. node/launcher.h has the invariants.
//
// A job run has an entry in jobs_ from its first launch until all of it is cleared away. Clearing takes steps
// of any length, driven by SIGCHLD and, where that may not come, by a timer: kill the roots (the tasks that
// the launcher started), kill the orphans (processes that the launcher inherits when roots die), remove the
// temporary directory, tell the daemon.
//
// One thread, that of the event loop.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/proxy.pb.h"
#include "node/cpu_pool.h"
#include "node/job_groups.h"
#include "node/journal.h"
#include "node/launch.pb.h"
#include "node/launch_table.h"
#include "node/namespaces.h"
#include "node/process_tree.h"
#include "node/spawn.h"
#include "node/tmp_dir_pool.h"
#include "os/event_loop.h"
#include "os/fd.h"

namespace minke::node {
class JournalRecord;
}  // namespace minke::node

namespace minke::node {

class Supervisor {
 public:
  struct Options {
    std::string journal_path;
    std::string home_id;
    bool use_kernel_child_list = true;
    bool shared = false;     // serves all users, as root
    std::string memory_dir;  // for directories that are mounted as jobs' /dev/shm
  };
  // Recovers from the journal: running launches of an earlier launcher are cleared away and then reported as
  // lost. The process must already be a child subreaper. Errors: the journal cannot be read or written.
  static Result<std::unique_ptr<Supervisor>> create(os::EventLoop& loop, Options options);

  // Where messages to the daemon go; empty: no daemon is connected. `daemon`: its pid. It is never killed,
  // even if it was started from within a job.
  using Sink = std::function<void(const LauncherMessage&)>;
  void set_daemon(Sink sink, pid_t daemon);

  void launch(LaunchOrder order, std::vector<os::UniqueFd> descriptors);
  void signal(SignalOrder order);
  void end_job(const EndJobOrder& order);
  void collect(const CollectOrder& order);
  Inventory inventory();
  bool idle() const;          // nothing runs, or must be cleared away or collected
  void reap();                // on SIGCHLD
  bool is_in_job(pid_t pid);  // whether a process of this machine was started from within a job

 private:
  struct Root {  // a task that the launcher started
    LaunchKey launch;
    uint32_t position = 0;
  };
  // The network of an offline job, or of all those of a user. It lasts as long as a job is in it.
  struct OfflineNetwork : std::enable_shared_from_this<OfflineNetwork> {
    os::UniqueFd space;
    // The way to the proxy: a socket there, and the process that accepts from it. The process is started when
    // somebody connects.
    model::ProxySettings proxy;
    os::UniqueFd proxy_socket;
    std::unique_ptr<os::EventLoop::Watch> proxy_watch;
    pid_t proxy_process = 0;
    pid_t ports_process = 0;  // opens its ports to the user; 0: it has none, or ended
  };
  struct Job {
    JobKey key;
    std::string tmp_dir;
    std::vector<pid_t> sessions;  // of its tasks, including ended ones
    uint32_t live_roots = 0;
    uint32_t writers = 0;  // of lines in its output, which it ends after
    std::chrono::steady_clock::time_point start;
    bool ending = false;
    bool of_earlier_launcher = false;
    bool asked_to_end = false;             // the daemon waits for JobEnded
    std::vector<LaunchKey> ended;          // to be reported when the job is cleared away
    std::vector<std::string> directories;  // removed with the job, the last one first; includes tmp_dir
    pid_t removal = 0;                     // the process that empties the last of `directories`
    std::string batch_stderr;              // path; empty: none, or not known
    std::string message_prefix;            // put before the launcher's own messages there
    std::optional<Identity> identity;
    std::vector<std::vector<uint32_t>> cpus;  // by place; empty: not bound
    std::vector<Bind> binds;
    std::shared_ptr<OfflineNetwork> network;  // of an offline job
  };
  // A child of the launcher that the launcher did not start.
  struct Orphan {
    enum Owner { kUndecided, kNobodys, kUnmarked, kOfJob } owner = kUndecided;
    JobKey job;
    pid_t session = 0;
  };

  struct EarlySignal {  // for a job with tasks that have not executed their program yet
    JobKey job;
    SignalOrder order;
    std::chrono::steady_clock::time_point deadline;
  };

  Supervisor(os::EventLoop& loop, Options options, Journal journal, LaunchTable table);

  // supervisor.cpp: orders
  void record(const JournalRecord& record);
  Status prepare(const LaunchOrder& order, size_t descriptors, Confinement& confinement);
  Status make_directories(const LaunchOrder& order, Job& job);
  Status join_network(const LaunchOrder& order, Job& job);
  Result<std::shared_ptr<OfflineNetwork>> make_network(const LaunchOrder& order);
  void open_ports(const LaunchOrder& order, OfflineNetwork& network);
  void leave_network(Job& job);
  void add_namespaces(const LaunchOrder& order, Confinement& confinement);
  void wait_for_proxy_use(OfflineNetwork& network);
  void helper_ended(pid_t helper, OfflineNetwork& network);
  std::vector<std::string> private_directories(const Job& job) const;  // even those that it does not have
  void add_closed_directories(const LaunchOrder& order, std::vector<Bind>& binds) const;
  void remember_streams(const LaunchOrder& order);
  void start_tasks(LaunchState& launch, const LaunchOrder& order,
                   const std::vector<os::UniqueFd>& descriptors, const Confinement& confinement);
  bool is_starting(const JobKey& job);
  void deliver(const SignalOrder& order);
  void deliver_early_signals();
  void task_failed(LaunchState& launch, uint32_t position, const Error& error);
  void launch_ended(LaunchState& launch);
  void tell_started(const LaunchState& launch);
  void tell_ended(const LaunchState& launch);
  std::vector<pid_t> live_roots(const LaunchState& launch) const;

  // supervisor_reaping.cpp: children, and clearing jobs away
  void root_exits(const Root& root, pid_t pid, int status, const rusage& usage);  // it is still a zombie
  void root_reaped(const Root& root);
  void tell_oom_kills(const LaunchState& launch, uint32_t kills);
  void begin_end(Job& job);
  void schedule_clearing();
  void clear_jobs();
  bool processes_left(Job& job, const std::vector<pid_t>& orphans);
  bool kill_orphans(const Job& job, const std::vector<pid_t>& orphans);
  void kill_rest_of(const LaunchState& launch);
  bool remove_directories_of(Job& job);
  bool set_aside(const std::string& directory);
  void remove_set_aside(const std::string& path);
  void sweep(const std::string& parent);
  void finish(Job& job);

  // supervisor_orphans.cpp: whose process is that?
  // The targets of a signal that the launcher has not started itself.
  std::vector<pid_t> others_in_groups(const SignalOrder& order, const Job& job);
  std::vector<pid_t> others_to_signal(const SignalOrder& order, const Job& job,
                                      const std::vector<pid_t>& roots, const std::set<pid_t>& sessions);
  std::vector<pid_t> read_orphans(pid_t since = 0);
  pid_t first_pid_worth_reading() const;
  const Orphan& classify(pid_t orphan);
  bool is_of(const Job& job, pid_t orphan, bool guess);
  const std::vector<Process>& snapshot();
  std::map<JobKey, std::vector<pid_t>> survivors_of_earlier_launcher(bool& undecided);
  std::optional<JobKey> marked_job(pid_t pid, bool& undecided) const;
  void recover(bool same_boot);

  os::EventLoop& loop_;
  Options options_;
  std::string instance_;
  std::string journal_id_;
  LaunchTable table_;
  Journal journal_;
  Spawner spawner_;
  ChildList child_list_;
  TmpDirPool tmp_dirs_;
  JobGroups groups_;
  CpuPool cpus_;
  // User namespaces of confined jobs. They bar access to the user's other processes.
  os::UniqueFd users_of_offline_, users_of_closed_;
  // For jobs of other users than root that find nodes by name. `hosts_text_` is
  // the text that it was made from.
  std::optional<HostsNamespace> hosts_;
  std::string hosts_text_;
  bool namespaces_refused_ = false;
  Sink sink_;
  pid_t daemon_ = 0;

  std::unordered_map<pid_t, Root> roots_;
  std::unordered_map<pid_t, JobKey> sessions_;  // of all jobs_
  std::unordered_map<pid_t, JobKey> removals_;
  std::unordered_map<pid_t, JobKey> writers_;         // of a line in its output
  std::unordered_map<pid_t, std::string> set_aside_;  // process -> what it removes for an ended job
  std::unordered_set<std::string> swept_;             // directories without remains of an earlier launcher
  std::map<std::string, std::weak_ptr<OfflineNetwork>> networks_;             // those that jobs share
  std::unordered_map<pid_t, std::weak_ptr<OfflineNetwork>> network_helpers_;  // by process
  std::unordered_map<pid_t, Orphan> orphans_;     // entries go when reaped; until then the pid is not reused
  std::optional<std::vector<Process>> snapshot_;  // of this turn of the loop
  std::map<JobKey, Job> jobs_;
  std::set<JobKey> ending_;
  bool clearing_scheduled_ = false;
  bool sync_scheduled_ = false;
  std::unique_ptr<os::EventLoop::Timer> timer_;
  std::vector<EarlySignal> early_signals_;
  std::unique_ptr<os::EventLoop::Timer> early_timer_;
  std::unique_ptr<os::EventLoop::Timer>
      idle_timer_;                      // removes the spare directories when it has been idle for a while
  std::chrono::milliseconds delay_{0};  // until the next look at processes that do not die
};

// Signals the process group of a root, or the root alone if it has no group yet.
void signal_group(pid_t root, int signal_number);

// Writes to standard error, which is the launcher's log.
void log_line(const std::string& line);

}  // namespace minke::node
