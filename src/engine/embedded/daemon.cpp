#include "engine/embedded/daemon.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <utility>

#include "api/daemon.pb.h"
#include "base/version.h"
#include "config/configuration.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/accounts/quotas.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/cluster_configuration.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/confining.h"
#include "engine/embedded/launching/shortages.h"
#include "engine/embedded/launching/tmp_root.h"
#include "engine/embedded/recovery.h"
#include "engine/embedded/restart.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/priorities.h"
#include "engine/embedded/server/server.h"
#include "engine/embedded/stopping.h"
#include "engine/embedded/watching/measuring.h"
#include "engine/embedded/watching/metrics_process.h"
#include "engine/embedded/watching/retention.h"
#include "engine/embedded/watching/storage_keeping.h"
#include "engine/embedded/watching/triggers.h"
#include "model/error.h"
#include "node/control_groups.h"
#include "node/discovery.h"
#include "node/launch.pb.h"
#include "node/launcher.h"
#include "node/launcher_client.h"
#include "node/leave_job.h"
#include "node/stub_launcher.h"
#include "os/event_loop.h"
#include "os/files.h"
#include "os/helper_starter.h"
#include "os/log.h"
#include "os/minke_home.h"
#include "os/process.h"
#include "os/volatile_file.h"
#include "rpc/socket.h"
#include "store/store.h"

namespace minke::engine {

using namespace model;

namespace {

std::string boot_id() {
  const auto id = os::read_file("/proc/sys/kernel/random/boot_id", 4096);
  return id ? *id : std::string();
}

void say(const std::string& line) {
  const std::string text = line + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(null, STDOUT_FILENO);
  ::close(null);
}

class Daemon {
 public:
  explicit Daemon(DaemonOptions options) : options_(std::move(options)) {}
  ~Daemon();

  Status start();
  bool run() {  // false: it could not start
    loop_.run();
    return !gave_up_;
  }

 private:
  Result<config::Configuration> read_configuration() const;
  void recovered();
  api::StatusReply status() const;
  Status reconfigure();
  std::string launcher_trouble() const;
  // Parts of start().
  Status load(config::Configuration config);
  void connect_launcher();
  Status listen();
  void tell_of_launcher(const node::Inventory& inventory);
  bool gives_up_starting();

  DaemonOptions options_;
  os::EventLoop loop_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Core> core_;
  std::unique_ptr<Restart> restart_;
  std::unique_ptr<node::LauncherClient> launcher_;
  std::unique_ptr<Server> server_;
  int64_t start_time_ = 0;
  std::vector<api::ConfigurationFile> files_;  // of the current configuration
  uint32_t launcher_pid_ = 0;
  std::string launcher_instance_;
  bool recovered_ = false;
  int launcher_failures_ = 0;  // before `recovered_`
  bool gave_up_ = false;
  std::unique_ptr<MetricsProcess> metrics_;
  std::unique_ptr<Stopping> stopping_;
};

// The store's threads end first: until then they call back into the core and its loop.
Daemon::~Daemon() {
  store_.reset();
}

Result<config::Configuration> Daemon::read_configuration() const {
  NodeRecord machine = node::discover_machine();
  auto config = read_cluster_configuration(options_.home, options_.config_path, machine);
  if (!config) return config;
  speak_release(config->slurm_release);
  for (NodeRecord& node : config->nodes) node.set_version(std::string(slurm_version(config->slurm_release)));
  return config;
}

Status Daemon::load(config::Configuration config) {
  core_ =
      std::make_unique<Core>(loop_, std::move(config), *store_, [] { return int64_t{std::time(nullptr)}; });
  files_ = files_of(core_->config);
  if (const Status written = software::SoftwareEnvironment::write_login_shell_file(core_->config.home);
      !written)
    os::log_warning("login shells in jobs may lose the cluster's commands: " + written.error().message);
  core_->software.load(core_->config.home);
  if (auto hosts = write_hosts(core_->config)) {
    core_->hosts_path = std::move(*hosts);
  } else {  // for example a full disk: jobs use the machine's host names
    os::log_warning("jobs cannot look up the names of nodes: " + hosts.error().message);
  }
  restart_ = std::make_unique<Restart>(*core_);
  return restart_->load(boot_id());
}

void Daemon::connect_launcher() {
  auto callbacks = core_->recovery->callbacks([this] { recovered(); });
  callbacks.on_inventory = [this, next = std::move(callbacks.on_inventory)](node::Inventory inventory) {
    tell_of_launcher(inventory);
    launcher_pid_ = inventory.pid();
    [[maybe_unused]] const Status written = os::replace_volatile_file(
        options_.home + "/launcher.pid", std::to_string(inventory.pid()) + "\n", 0600);
    next(std::move(inventory));
  };
  callbacks.on_lost_connection = [this, next = std::move(callbacks.on_lost_connection)](Status why) {
    if (stopping_->has_begun() || gives_up_starting()) {
      loop_.stop();
    } else {
      next(std::move(why));
    }
  };
  launcher_ = options_.stub_launch ? node::make_stub_launcher(loop_, std::move(callbacks))
                                   : node::make_launcher_client(loop_,
                                                                {.home = options_.home,
                                                                 .command = {},
                                                                 .log_path = options_.home + "/launcher.log",
                                                                 .await = options_.await_launcher},
                                                                std::move(callbacks));
  core_->launcher = launcher_.get();
  stopping_ = std::make_unique<Stopping>(*core_, *launcher_, [this] { return launcher_trouble(); });
}

Status Daemon::listen() {
  auto listener = rpc::listen_at(os::socket_path(options_.home), core_->config.shared ? 0666 : 0600);
  if (!listener) return failure(listener.error());
  server_ = std::make_unique<Server>(*core_, std::move(*listener),
                                     Server::Hooks{[this] { return status(); },
                                                   [this](api::ShutdownRequest::Mode mode, auto reply) {
                                                     stopping_->shut_down(mode, std::move(reply));
                                                   },
                                                   [this] { return reconfigure(); }});
  return {};
}

Status Daemon::start() {
  start_time_ = std::time(nullptr);
  offer_slurm_conf(options_.home);
  auto config = read_configuration();
  if (!config) return failure(config.error());
  if (config->shared && ::geteuid() != 0)
    return failure("the daemon of a shared cluster must run as root", EPERM);
  auto opened =
      store::Store::open(os::database_path(options_.home),
                         {.sync = options_.sync,
                          .vfs = {},
                          .signs = {node::launcher_journal_path(options_.home), options_.home + "/spool"}});
  if (!opened) return failure(opened.error());
  store_ = std::move(*opened);
  if (const Status prepared = prepare_tmp_root(*config); !prepared) return prepared;
  if (const Status loaded = load(std::move(*config)); !loaded) return loaded;
  connect_launcher();
  if (const Status listens = listen(); !listens) return listens;
  stopping_->stop_on_signals();
  launcher_->start();
  return {};
}

// Logs a new launcher: the dead one took its jobs along, and the new one clears their remains.
void Daemon::tell_of_launcher(const node::Inventory& inventory) {
  const bool another = !launcher_instance_.empty() && launcher_instance_ != inventory.instance();
  launcher_instance_ = inventory.instance();
  if (!another) return;
  std::string jobs;
  int lost = 0;
  for (const node::Launch& launch : inventory.launches()) {
    if (launch.end_time() != 0 && !launch.lost()) continue;
    constexpr int kNamed = 10;
    if (++lost <= kNamed) jobs += (lost == 1 ? " (of jobs " : ", ") + std::to_string(launch.id().job_id());
    if (lost == kNamed + 1) jobs += ", …";
  }
  if (lost > 0) jobs += ")";
  os::log_warning("a launcher was started anew, pid " + std::to_string(inventory.pid()) + ": " +
                  std::to_string(lost) + (lost == 1 ? " launch" : " launches") + " of the one before" + jobs +
                  (lost == 0
                       ? " ran"
                       : " ran and are ended; their jobs go back to the queue where they may be requeued, "
                         "and else end as NODE_FAIL"));
}

// Before the first inventory, nothing is known of the jobs and no client is answered. The user who
// started this daemon must learn why.
bool Daemon::gives_up_starting() {
  constexpr int kTries = 5;
  if (recovered_ || options_.await_launcher || ++launcher_failures_ < kTries) return false;
  say("the launcher cannot be started: " + launcher_->problem() + "; see " + options_.home + "/launcher.log");
  return gave_up_ = true;
}

void Daemon::recovered() {
  recovered_ = true;
  const size_t jobs = restart_->recovered();
  server_->open();
  restart_->go_on();
  [[maybe_unused]] const Status written =
      os::replace_volatile_file(os::pid_path(options_.home), std::to_string(getpid()) + "\n", 0600);
  metrics_ = std::make_unique<MetricsProcess>(*core_);
  metrics_->start();
  core_->storage_keeping->start();
  core_->retention->policy_changed();
  os::log_info("ready: " + std::to_string(jobs) + " jobs");
  say("ready");
}

api::StatusReply Daemon::status() const {
  api::StatusReply reply;
  reply.set_version(kVersion);
  reply.set_pid(static_cast<uint32_t>(getpid()));
  reply.set_launcher_pid(launcher_->connected() ? launcher_pid_ : 0);
  reply.set_start_time(start_time_);
  reply.set_home(options_.home);
  reply.set_config_path(core_->config.source_path);
  for (const api::ConfigurationFile& file : files_) *reply.add_configuration_files() = file;
  reply.set_cluster_name(core_->config.cluster_name);
  uint64_t pending = 0, running = 0;
  for (const auto& [id, job] : core_->state.jobs()) {
    if (job->state == JOB_PENDING) pending += job->array ? job->array->waiting.size() : 1;
    running += job->holds_nodes();
  }
  reply.set_jobs_pending(pending);
  reply.set_jobs_running(running);
  reply.set_wake_ups(loop_.wake_ups());
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  statm >> size >> resident;
  reply.set_rss_kib(resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 1024);
  if (!core_->committer.problem().empty()) {
    reply.add_problems("changes cannot be stored: " + core_->committer.problem());
  }
  constexpr size_t kDamagedShown = 20;
  const std::vector<std::string> damaged = restart_->damaged();
  for (size_t i = 0; i < std::min(damaged.size(), kDamagedShown); ++i)
    reply.add_problems("damaged in the database, and set aside: " + damaged[i]);
  if (damaged.size() > kDamagedShown)
    reply.add_problems("damaged in the database, and set aside: " +
                       std::to_string(damaged.size() - kDamagedShown) + " more, named in minked.log");
  if (!core_->measuring->gpu_problem().empty())
    reply.add_problems("GPUs: " + core_->measuring->gpu_problem());
  if (!core_->config.gpu_problem.empty()) reply.add_problems("GPUs: " + core_->config.gpu_problem);
  core_->shortages->tell([&](uint32_t uid, const std::string& problem) {
    reply.add_problems("jobs of " + core_->state.user_name(uid) +
                       " cannot be launched, and wait: " + problem);
  });
  if (const std::string trouble = launcher_trouble(); !trouble.empty()) reply.add_problems(trouble);
  return reply;
}

// Nodes, licenses and the nodes of each partition keep their values until the daemon restarts, because
// jobs have been placed by them.
Status Daemon::reconfigure() {
  auto read = read_configuration();
  if (!read) return failure(read.error().message, kNotSupported);
  config::Configuration& config = core_->config;
  const auto lasting = [](NodeRecord node) {  // without values that change by themselves
    node.clear_boot_time();
    node.clear_cpu_load();
    node.clear_free_memory_mib();
    return node.SerializeAsString();
  };
  const bool same_nodes =
      std::equal(config.nodes.begin(), config.nodes.end(), read->nodes.begin(), read->nodes.end(),
                 [&](const NodeRecord& a, const NodeRecord& b) { return lasting(a) == lasting(b); });
  if (!same_nodes || config.tmp_root != read->tmp_root || config.tmp_bytes != read->tmp_bytes ||
      config.cluster_name != read->cluster_name) {
    return failure(
        "nodes, tmp_root, tmp_size and cluster_name are read at start: "
        "minke down --keep-jobs, then minke up",
        kNotSupported);
  }
  const std::vector<PartitionRecord> before = std::move(config.partitions);
  config = std::move(*read);
  files_ = files_of(config);
  core_->software.load(config.home);
  core_->nodes->reconfigure(before);
  core_->priorities->policy_changed();
  core_->accounts->policy_changed();
  core_->quotas->configuration_changed();
  core_->rights->reconfigured();
  core_->storage_keeping->start();
  core_->retention->policy_changed();
  core_->triggers->reconfigured();
  metrics_->configuration_changed();
  os::log_info("the configuration was read again");
  return {};
}

// A text; empty: the launcher is connected and works.
std::string Daemon::launcher_trouble() const {
  if (!launcher_->connected()) {
    const std::string& problem = launcher_->problem();
    return "the launcher is not connected; nothing is started" + (problem.empty() ? "" : ": " + problem);
  }
  if (os::is_stopped(static_cast<pid_t>(launcher_pid_)))
    return "the launcher (pid " + std::to_string(launcher_pid_) +
           ") is stopped; nothing starts or ends: kill -CONT " + std::to_string(launcher_pid_);
  return {};
}

}  // namespace

int run_daemon(const DaemonOptions& options) {
  ::umask(0077);
  if (options.leave_job) {
    if (const Status left = node::leave_job(); !left) {
      say(left.error().message);
      return kDaemonFailed;
    }
  }
  node::ControlGroups::leave();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit is an error like any other
  os::raise_descriptor_limit();   // for the descriptors of steps, which pass through
  auto lock = os::lock_file(os::lock_path(options.home));
  if (!lock) {
    say(lock.error().code == EWOULDBLOCK ? "busy" : lock.error().message);
    return lock.error().code == EWOULDBLOCK ? kDaemonExists : kDaemonFailed;
  }
  if (const Status opened = os::open_log(os::log_path(options.home)); !opened) {
    say(opened.error().message);
    return kDaemonFailed;
  }
  if (options.ask_helper_starter) os::use_helper_starter(os::helper_starter_path(options.home));
  Daemon daemon(options);
  if (const Status started = daemon.start(); !started) {
    os::log_error(started.error().message);
    say(started.error().message);
    return kDaemonFailed;
  }
  const bool ran = daemon.run();
  os::log_info("stopped");
  ::unlink(os::socket_path(options.home).c_str());
  ::unlink(os::pid_path(options.home).c_str());
  return ran ? kDaemonStopped : kDaemonFailed;
}

}  // namespace minke::engine
