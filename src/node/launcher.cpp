#include "node/launcher.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "node/control_groups.h"
#include "node/launch.pb.h"
#include "node/supervisor.h"
#include "os/detached.h"
#include "os/event_loop.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "rpc/connection.h"
#include "rpc/frame.h"

namespace minke::node {
namespace {

// Launcher: communicates with the daemon; the supervisor carries out the orders.
//
// A connection becomes the daemon when its first message asks for the inventory. It
// replaces the daemon before it.
class Launcher {
 public:
  Launcher(os::EventLoop& loop, std::string home, os::UniqueFd listening,
           std::unique_ptr<Supervisor> supervisor)
      : loop_(loop),
        home_(std::move(home)),
        listening_(std::move(listening)),
        supervisor_(std::move(supervisor)) {
    accepting_ =
        rpc::accept_on(loop_, listening_.get(), [this](os::UniqueFd socket) { accept(std::move(socket)); });
    child_watch_ = loop_.on_signal(SIGCHLD, [this] { supervisor_->reap(); });
    loop_.post([this] { supervisor_->reap(); });  // children that ended before the watch
  }

 private:
  void accept(os::UniqueFd socket) {
    rpc::Peer peer = rpc::peer_of(socket.get());
    if (peer.uid != ::geteuid()) {
      log_line("refused a connection of uid " + std::to_string(peer.uid));
      return;
    }
    const uint64_t number = ++last_number_;
    rpc::Connection::Callbacks callbacks;
    callbacks.on_frame = [this, number](std::string_view frame, std::vector<os::UniqueFd> descriptors) {
      receive(number, frame, std::move(descriptors));
    };
    callbacks.on_close = [this, number](const Status& why) {
      if (!why) log_line("connection closed: " + why.error().message);
      disconnect(number);
    };
    newcomers_[number] =
        rpc::Connection::start(loop_, std::move(socket), rpc::kMaxReplyBytes, std::move(callbacks));
    if (newcomers_.size() > kMostNewcomers) newcomers_.erase(newcomers_.begin());
  }

  void disconnect(uint64_t number) {
    newcomers_.erase(number);
    if (number != daemon_number_) return;
    supervisor_->set_daemon(nullptr, 0);
    daemon_number_ = 0;
    daemon_.reset();
  }

  void receive(uint64_t number, std::string_view frame, std::vector<os::UniqueFd> descriptors) {
    DaemonMessage message;
    if (!message.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) {
      log_line("received what is no message");
      return disconnect(number);
    }
    if (number == daemon_number_) return obey(message, std::move(descriptors));
    const auto newcomer = newcomers_.find(number);
    if (newcomer == newcomers_.end()) return;
    if (message.has_start_daemon()) {
      start_daemon(message.start_daemon(), newcomer->second->peer().pid, descriptors);
      return disconnect(number);
    }
    if (!message.has_inventory()) {
      log_line("received something else before an inventory was asked for");
      return disconnect(number);
    }
    disconnect(daemon_number_);
    daemon_ = std::move(newcomer->second);
    daemon_number_ = number;
    newcomers_.erase(newcomer);
    tell_inventory();
  }

  void obey(DaemonMessage& message, std::vector<os::UniqueFd> descriptors) {
    switch (message.body_case()) {
      case DaemonMessage::kLaunch:
        return supervisor_->launch(std::move(*message.mutable_launch()), std::move(descriptors));
      case DaemonMessage::kSignal:
        return supervisor_->signal(message.signal());
      case DaemonMessage::kEndJob:
        return supervisor_->end_job(message.end_job());
      case DaemonMessage::kCollect:
        return supervisor_->collect(message.collect());
      case DaemonMessage::kInventory:
        return tell_inventory();
      case DaemonMessage::kShutdown:
        if (supervisor_->idle()) loop_.stop();
        return;
      case DaemonMessage::kStartDaemon:
      case DaemonMessage::BODY_NOT_SET:
        log_line("received a message of an unknown kind");
        return;
    }
  }

  void tell_inventory() {
    LauncherMessage message;
    *message.mutable_inventory() = supervisor_->inventory();
    daemon_->send(message);
    supervisor_->set_daemon([this](const LauncherMessage& event) { daemon_->send(event); },
                            daemon_->peer().pid);
  }

  // Starts a daemon for a command within a job that found none. A daemon started by the command itself would
  // have the job's processors, limits, groups and namespaces; this process has none of them. On a shared
  // cluster only root starts a daemon.
  void start_daemon(const StartDaemonOrder& order, pid_t asking,
                    const std::vector<os::UniqueFd>& descriptors) {
    if (os::is_shared(home_) || descriptors.size() != 1 || !order.program().starts_with('/') ||
        !supervisor_->is_in_job(asking))
      return;
    const auto started = os::start_detached({.argv = {order.program(), "daemon", "--home", home_},
                                             .log_path = os::log_path(home_),
                                             .without_variables = {kLaunchMarker, "SLURM_*", "SBATCH_*"},
                                             .output = descriptors[0].get()});
    if (!started) log_line("a daemon could not be started: " + started.error().message);
  }

  static constexpr size_t kMostNewcomers = 16;
  os::EventLoop& loop_;
  std::string home_;
  os::UniqueFd listening_;
  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<os::EventLoop::Watch> accepting_;
  std::unique_ptr<os::EventLoop::Watch> child_watch_;
  uint64_t last_number_ = 0;
  uint64_t daemon_number_ = 0;  // 0: there is none
  std::unique_ptr<rpc::Connection> daemon_;
  std::map<uint64_t, std::unique_ptr<rpc::Connection>> newcomers_;  // connections without a first message
};

// A child that has changed to its user still shares some of our pages until it executes its program
// (node/spawn.h). The kernel keeps that user's other processes from reading them unless configured otherwise.
Status prepare_to_serve_others(const std::string& home) {
  if (!os::is_shared(home)) return {};
  if (::geteuid() != 0) return failure("the launcher of a shared cluster must run as root", EPERM);
  const auto dumpable = os::read_file("/proc/sys/fs/suid_dumpable", 16);
  if (dumpable && dumpable->starts_with("1"))
    return failure(
        "fs.suid_dumpable is 1, which lets users look into programs that start as root: set it to 0 or 2");
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return failure_from_errno("prctl", errno);
  // Drops capabilities that a job's programs could inherit.
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (::syscall(SYS_capget, &header, data) != 0) return failure_from_errno("capget", errno);
  for (__user_cap_data_struct& part : data) part.inheritable = 0;
  if (::syscall(SYS_capset, &header, data) != 0) return failure_from_errno("capset", errno);
  return {};
}

int fail(const std::string& what) {
  log_line(what);
  return kLauncherFailed;
}

// Keeps a launcher's descriptors 0, 1 and 2 open, so that no later open() gets these
// numbers. node/spawn.h relies on it.
void open_standard_streams() {
  int fd;
  do fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= 2);
  if (fd >= 0) ::close(fd);
}

// A login session has its own limits, also hard ones, and a launcher started from it must not pass
// them on to everybody's jobs. As in Slurm, jobs have the soft limits of the submission and no hard
// ones. Only root may raise them.
void raise_hard_limits() {
  if (::geteuid() != 0) return;
  const auto most_files = os::read_file("/proc/sys/fs/nr_open", 64);
  for (int resource = 0; resource < RLIMIT_NLIMITS; ++resource) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) continue;
    limit.rlim_max = RLIM_INFINITY;
    if (resource == RLIMIT_NOFILE && most_files)
      limit.rlim_max = std::strtoul(most_files->c_str(), nullptr, 10);
    ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
  }
}

// A lock of this process alone (not flock): children that briefly outlive a
// killed launcher do not hold it.
bool take_lock(int file) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(file, F_SETLK, &whole) == 0;
}

void say_ready() {
  std::fputs("ready\n", stdout);
  std::fflush(stdout);
  os::UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null) ::dup2(null.get(), STDOUT_FILENO);
}

}  // namespace

std::string launcher_socket_path(const std::string& home) {
  return home + "/launcher.sock";
}
std::string launcher_journal_path(const std::string& home) {
  return home + "/launcher.journal";
}

std::string launcher_home_id(const std::string& home) {
  std::unique_ptr<char, void (*)(void*)> real(::realpath(home.c_str(), nullptr), std::free);
  std::string path = real ? real.get() : home;
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

int run_launcher(const LauncherOptions& options) {
  open_standard_streams();
  std::unique_ptr<char, void (*)(void*)> real(::realpath(options.home.c_str(), nullptr), std::free);
  if (!real) return fail(failure_from_errno(options.home, errno).value().message);
  std::string home = real.get();
  if (auto safe = prepare_to_serve_others(home); !safe) return fail(safe.error().message);
  raise_hard_limits();
  os::raise_descriptor_limit();  // for the descriptors of steps, which pass through
  std::string lock_path = home + "/launcher.lock";
  os::UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return fail(failure_from_errno(lock_path, errno).value().message);
  if (!take_lock(lock.get())) {
    log_line("another launcher serves " + home);
    return kLauncherExists;
  }
  ControlGroups::leave();
  ::umask(077);
  if (::chdir("/") != 0)
    return fail(failure_from_errno("/", errno).value().message);  // holds no directory busy
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit is an error like any other
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return fail("this kernel has no child subreapers");

  os::EventLoop loop;
  Supervisor::Options supervising;
  supervising.journal_path = launcher_journal_path(home);
  supervising.home_id = launcher_home_id(home);
  supervising.shared = os::is_shared(home);
  supervising.memory_dir = home + "/shm";
  supervising.use_kernel_child_list = options.use_kernel_child_list;
  auto supervisor = Supervisor::create(loop, std::move(supervising));
  if (!supervisor) return fail(supervisor.error().message);
  auto listening = rpc::listen_at(launcher_socket_path(home), 0600);
  if (!listening) return fail(listening.error().message);
  Launcher launcher(loop, home, std::move(*listening), std::move(*supervisor));
  say_ready();
  loop.run();
  ::unlink(launcher_socket_path(home).c_str());
  if (os::is_shared(home)) ::umount2((home + "/shm").c_str(), MNT_DETACH);  // may be mounted for jobs
  return kLauncherStopped;
}

}  // namespace minke::node
