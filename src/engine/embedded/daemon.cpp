#include "engine/embedded/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "api/daemon.pb.h"
#include "base/version.h"
#include "config/configuration.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/accounts/quotas.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/confining.h"
#include "engine/embedded/launching/prologs.h"
#include "engine/embedded/launching/shortages.h"
#include "engine/embedded/life_cycle/lifecycle.h"
#include "engine/embedded/life_cycle/waiting.h"
#include "engine/embedded/recovery.h"
#include "engine/embedded/restart.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/preemption.h"
#include "engine/embedded/scheduling/priorities.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/server/server.h"
#include "engine/embedded/steps/steps.h"
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
#include "node/tmp_image.h"
#include "os/detached.h"
#include "os/event_loop.h"
#include "os/files.h"
#include "os/helper_program.h"
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

constexpr std::chrono::milliseconds kShutDownLooks{500};

std::string boot_id() {
  const auto id = os::read_file("/proc/sys/kernel/random/boot_id", 4096);
  return id ? *id : std::string();
}

// Creates a slurm.conf for users who look for one; its comments say what it does.
void offer_slurm_conf(const std::string& path) {
  constexpr std::string_view kText =
      "# Parameters, nodes and partitions in the words of slurm.conf(5). What is set here comes before "
      "minke.toml.\n"
      "# Read when Minke starts, and, but for nodes and ClusterName, by `scontrol reconfigure`.\n";
  constexpr mode_t kMode = 0644;
  const os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  if (!file) return;
  [[maybe_unused]] const ssize_t written = ::write(file.get(), kText.data(), kText.size());
  [[maybe_unused]] const int opened = ::fchmod(file.get(), kMode);  // independent of the umask
}

// The files that the configuration came from, and missing files that were searched.
std::vector<api::ConfigurationFile> files_of(const config::Configuration& config) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  std::vector<std::string> paths = config.files;
  if (config.source_path.empty())
    paths.push_back(config.home == os::kSharedHome ? os::kSharedConfiguration : config.home + "/minke.toml");
  if (std::find(paths.begin(), paths.end(), config.slurm_conf) == paths.end())
    paths.push_back(config.slurm_conf);
  std::vector<api::ConfigurationFile> files;
  for (const std::string& path : paths) {
    api::ConfigurationFile& file = files.emplace_back();
    file.set_path(path);
    if (const auto text = os::read_file(path, kMostBytes)) file.set_digest(store::hash_content(*text));
  }
  return files;
}

void say(const std::string& line) {
  const std::string text = line + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(null, STDOUT_FILENO);
  ::close(null);
}

// Independent of the umask: users may traverse the way to their own files, and read nothing else.
Status let_users_pass(const std::string& home, const std::string& tmp_root) {
  if (home == os::kSharedHome) {
    if (const Status made = os::make_directories(os::kSharedSocketDirectory, 0755); !made) return made;
    if (::chmod(os::kSharedSocketDirectory, 0755) != 0)
      return failure_from_errno(os::kSharedSocketDirectory, errno);
  }
  struct stat info {};
  if (::lstat(tmp_root.c_str(), &info) != 0) return failure_from_errno(tmp_root, errno);
  // If others could write there, they could replace a job's directory.
  if (!S_ISDIR(info.st_mode) || info.st_uid != 0 || (info.st_mode & 0022) != 0)
    return failure("tmp_root " + tmp_root + " must be a directory of root's that nobody else may write to");
  if (::chmod(tmp_root.c_str(), 0711) != 0) return failure_from_errno(tmp_root, errno);
  return {};
}

// Mounts an image as a test. Under systemd this process may not mount, so the helper starter does it.
Status make_tmp_image_template(const std::string& directory, uint64_t bytes) {
  if (!os::has_helper_starter()) return node::make_tmp_image_template(directory, bytes);
  constexpr int kMostMilliseconds = 60'000;
  const auto output = os::start_detached(
      {.argv = os::helper_command(os::Helper::kTmpImageTemplate,
                                  {"--directory", directory, "--bytes", std::to_string(bytes)}),
       .log_path = "/dev/null",
       .without_variables = {}});
  if (!output) return failure(output.error());
  std::string said;
  char buffer[4096];
  for (;;) {
    pollfd ready{output->get(), POLLIN, 0};
    if (::poll(&ready, 1, kMostMilliseconds) != 1) return failure("mke2fs does not end");
    const ssize_t got = ::read(output->get(), buffer, sizeof buffer);
    if (got <= 0) break;
    said.append(buffer, static_cast<size_t>(got));
  }
  if (said == "made\n") return {};
  return failure(said.empty() ? "it could not be tried" : said);
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
  Result<config::Configuration> read_configuration(const NodeRecord& machine) const;
  void recovered();
  api::StatusReply status() const;
  Status reconfigure();
  void shut_down(api::ShutdownRequest::Mode mode, std::function<void(Status)> reply);
  Status not_stopped() const;
  Status not_ended(const std::string& trouble) const;
  std::string launcher_trouble() const;
  void watch_shut_down(std::shared_ptr<std::function<void(Status)>> answer);
  void stop_when_idle();
  // Parts of start().
  Status prepare_tmp(const config::Configuration& config);
  Status load(config::Configuration config);
  void connect_launcher();
  Status listen();
  void stop_on_signals();
  void tell_of_launcher(const node::Inventory& inventory);
  bool gives_up_starting();
  uint64_t running_jobs() const;

  DaemonOptions options_;
  os::EventLoop loop_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Core> core_;
  std::unique_ptr<Restart> restart_;
  std::unique_ptr<node::LauncherClient> launcher_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<os::EventLoop::Watch>> signals_;
  int64_t start_time_ = 0;
  std::vector<api::ConfigurationFile> files_;  // of the current configuration
  uint32_t launcher_pid_ = 0;
  std::string launcher_instance_;
  bool recovered_ = false;
  int launcher_failures_ = 0;  // before `recovered_`
  bool gave_up_ = false;
  std::unique_ptr<MetricsProcess> metrics_;
  bool stopping_ = false;
  std::unique_ptr<os::EventLoop::Timer> shut_down_timer_;
};

// The store's threads end first: until then they call back into the core and its loop.
Daemon::~Daemon() {
  store_.reset();
}

Result<config::Configuration> Daemon::read_configuration(const NodeRecord& machine) const {
  const bool shared = os::is_shared(options_.home);
  // The file may have been created since the daemon started.
  const std::string path =
      options_.config_path.empty() ? os::configuration_path(options_.home) : options_.config_path;
  auto config = config::load_configuration(options_.home, path, machine);
  if (!config) return config;
  for (const std::string& unused : config->unused) os::log_info(unused + " is not used here");
  config->shared = shared;
  constexpr uint32_t kSharedPids = 16384;  // a fork bomb must leave room for other users
  if (shared && config->private_tmp &&
      (config->home.starts_with("/tmp/") || config->tmp_root.starts_with("/tmp/")))
    return failure(
        "with private_tmp, jobs cannot see what is below /tmp: neither the home nor tmp_root may be there");
  if (shared && config->private_jobs && !config->metrics.empty())
    return failure("metrics would show everybody what private_jobs hides: have one of them");
  if (shared && config->max_pids == 0) config->max_pids = kSharedPids;
  return config;
}

// Prepares what jobs' directories are made from.
Status Daemon::prepare_tmp(const config::Configuration& config) {
  if (const Status made = os::make_directories(config.tmp_root, config.shared ? 0711 : 0700); !made)
    return made;
  if (config.shared) {
    if (const Status open = let_users_pass(options_.home, config.tmp_root); !open) return open;
  }
  if (config.tmp_bytes == 0) return {};
  if (!config.shared) return failure("tmp_size needs a shared cluster: only root can limit directories");
  const Status made = make_tmp_image_template(config.tmp_root, config.tmp_bytes);
  return made ? Status() : failure("tmp_size: " + made.error().message);
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
    if (stopping_ || gives_up_starting()) {
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
}

Status Daemon::listen() {
  auto listener = rpc::listen_at(os::socket_path(options_.home), core_->config.shared ? 0666 : 0600);
  if (!listener) return failure(listener.error());
  server_ = std::make_unique<Server>(*core_, std::move(*listener),
                                     Server::Hooks{[this] { return status(); },
                                                   [this](api::ShutdownRequest::Mode mode, auto reply) {
                                                     shut_down(mode, std::move(reply));
                                                   },
                                                   [this] { return reconfigure(); }});
  return {};
}

void Daemon::stop_on_signals() {
  for (const int signal_number : {SIGTERM, SIGINT}) {
    signals_.push_back(loop_.on_signal(signal_number, [this] {
      os::log_info("told to stop; running jobs go on");
      shut_down(api::ShutdownRequest::KEEP_JOBS, [this](const Status& stops) {
        if (stops) return;
        os::log_warning("stopped with changes that could not be stored: " + core_->committer.problem());
        loop_.stop();
      });
    }));
  }
}

Status Daemon::start() {
  start_time_ = std::time(nullptr);
  NodeRecord machine = node::discover_machine();
  machine.set_version(kVersion);
  offer_slurm_conf(os::slurm_conf_path(options_.home));
  auto config = read_configuration(machine);
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
  if (const Status prepared = prepare_tmp(*config); !prepared) return prepared;
  if (const Status loaded = load(std::move(*config)); !loaded) return loaded;
  connect_launcher();
  if (const Status listens = listen(); !listens) return listens;
  stop_on_signals();
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

uint64_t Daemon::running_jobs() const {
  uint64_t count = 0;
  for (const auto& [id, job] : core_->state.jobs()) count += job->holds_nodes();
  return count;
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
  uint64_t pending = 0;
  for (const auto& [id, job] : core_->state.jobs()) {
    if (job->state == JOB_PENDING) pending += job->array ? job->array->waiting.size() : 1;
  }
  reply.set_jobs_pending(pending);
  reply.set_jobs_running(running_jobs());
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
  NodeRecord machine = node::discover_machine();
  machine.set_version(kVersion);
  auto read = read_configuration(machine);
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

void Daemon::shut_down(api::ShutdownRequest::Mode mode, std::function<void(Status)> reply) {
  if (!core_->committer.problem().empty()) return reply(not_stopped());
  // Waits for jobs that are completing: a command that just returned may have left them so.
  const auto is_leaving = [](const Job& job) {
    return job.completing && !(job.details && job.details->requeue_when_ended);
  };
  std::vector<uint32_t> ids;
  uint64_t running = 0;
  for (const auto& [id, job] : core_->state.jobs()) {
    if (!job->holds_nodes()) continue;
    ids.push_back(id);
    running += !is_leaving(*job);
  }
  if (mode == api::ShutdownRequest::IF_IDLE && running > 0) {
    reply(failure(std::to_string(running) + (running == 1 ? " job is" : " jobs are") +
                  " running: --keep-jobs lets them go on without the daemon, --cancel-jobs stops them"));
    return;
  }
  core_->scheduling->pause(true);
  const auto answer = std::make_shared<std::function<void(Status)>>(std::move(reply));
  watch_shut_down(answer);
  const auto stop = [this, answer] {
    if (!*answer) return;  // the client has been told that the daemon goes on
    std::exchange(*answer, nullptr)({});
    stop_when_idle();
  };
  if (mode == api::ShutdownRequest::KEEP_JOBS || ids.empty()) {
    core_->committer.when_durable(stop);
    return;
  }
  const auto left = std::make_shared<size_t>(ids.size());
  for (const uint32_t id : ids) {
    core_->waiting->for_end(id, [left, stop](const Waiting::Record&) {
      if (--*left == 0) stop();
    });
    core_->lifecycle->cancel(*core_->state.find(id), geteuid());
  }
}

Status Daemon::not_stopped() const {
  return failure(
      "the daemon goes on, because it has changes that cannot be stored: " + core_->committer.problem() +
      ". When that is mended, try again; to stop it without them: kill " + std::to_string(::getpid()));
}

Status Daemon::not_ended(const std::string& trouble) const {
  return failure("the daemon goes on, because there are jobs that it cannot end: " + trouble +
                 "; to stop it without that: minke down --keep-jobs");
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

// If the disk fills up meanwhile or the launcher is gone, tells the client,
// and the daemon goes on as before.
void Daemon::watch_shut_down(std::shared_ptr<std::function<void(Status)>> answer) {
  shut_down_timer_ = loop_.make_timer([this, answer] {
    if (!*answer) return;
    // A launcher that has just gone may be back in a moment.
    const bool comes_back = !launcher_->connected() && launcher_->problem().empty();
    const std::string trouble = comes_back ? std::string() : launcher_trouble();
    if (core_->committer.problem().empty() && trouble.empty())
      return shut_down_timer_->set_after(kShutDownLooks);
    std::exchange(*answer, nullptr)(trouble.empty() ? not_stopped() : not_ended(trouble));
    core_->scheduling->pause(!launcher_->connected());
  });
  shut_down_timer_->set_after(kShutDownLooks);
}

void Daemon::stop_when_idle() {
  if (stopping_) return;
  stopping_ = true;
  core_->measuring->store_all();
  // Everything that clients asked for is durable by now.
  shut_down_timer_ = loop_.make_timer([this] {
    if (core_->committer.problem().empty()) return shut_down_timer_->set_after(kShutDownLooks);
    os::log_warning("stopped without the last measurements: " + core_->committer.problem());
    loop_.stop();
  });
  shut_down_timer_->set_after(kShutDownLooks);
  core_->committer.when_idle([this] {
    // The answers still have to be sent; the next turn of the loop does so.
    loop_.post([this] {
      loop_.defer([this] {
        const bool launcher_stays = running_jobs() > 0 || !launcher_->connected();
        if (launcher_stays) return loop_.stop();
        launcher_->shutdown();  // its end stops the loop
      });
    });
  });
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
