#include "node/launcher_client.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

#include "node/launch.pb.h"
#include "node/launcher.h"
#include "os/helper_program.h"
#include "os/log.h"
#include "os/pipe.h"
#include "rpc/connection.h"
#include "rpc/frame.h"

extern char** environ;

namespace minke::node {
namespace {

off_t file_size(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

std::string read_from(const std::string& path, off_t from, size_t most) {
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string bytes(most, '\0');
  const ssize_t got = file ? ::pread(file.get(), bytes.data(), most, from) : -1;
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

class SocketLauncherClient : public LauncherClient {
 public:
  SocketLauncherClient(os::EventLoop& loop, LauncherClientOptions options, Callbacks callbacks)
      : loop_(loop), options_(std::move(options)), callbacks_(std::move(callbacks)) {
    if (options_.command.empty())
      options_.command = os::helper_command(os::Helper::kLauncher, {"--home", options_.home});
  }

  void start() override {
    disconnect();
    may_start_ = true;
    if (failures_ > 1) return try_after(pause_after(failures_));
    // Not directly, because the outcome is a callback.
    loop_.post([this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) connect();
    });
  }

  void launch(LaunchOrder order, std::vector<os::UniqueFd> descriptors) override {
    DaemonMessage message;
    *message.mutable_launch() = std::move(order);
    send(message, std::move(descriptors));
  }
  void signal(SignalOrder order) override {
    DaemonMessage message;
    *message.mutable_signal() = std::move(order);
    send(message);
  }
  void end_job(EndJobOrder order) override {
    DaemonMessage message;
    *message.mutable_end_job() = std::move(order);
    send(message);
  }
  void collect(CollectOrder order) override {
    DaemonMessage message;
    *message.mutable_collect() = std::move(order);
    send(message);
  }
  void shutdown() override {
    DaemonMessage message;
    message.set_shutdown(true);
    told_to_stop_ = true;
    send(message);
  }
  bool connected() const override { return connected_; }
  const std::string& problem() const override {
    return connected_ || failures_ < 2 ? LauncherClient::problem() : problem_;
  }

 private:
  // The first lost launcher is replaced at once.
  static std::chrono::milliseconds pause_after(int failures) {
    constexpr std::chrono::milliseconds kFirst{100}, kLongest{60'000};
    constexpr int kMostDoublings = 10;
    return std::min(kLongest, kFirst * (1 << std::min(failures - 2, kMostDoublings)));
  }

  void try_after(std::chrono::milliseconds pause) {
    if (!timer_) timer_ = loop_.make_timer([this] { connect(); });
    timer_->set_after(pause);
  }

  void send(const DaemonMessage& message, std::vector<os::UniqueFd> descriptors = {}) {
    if (connected_) connection_->send(message, std::move(descriptors));
  }

  void disconnect() {
    connected_ = false;
    connection_.reset();
    ready_watch_.reset();
    ready_.reset();
    if (timer_) timer_->cancel();
  }

  void lose(Status why) {
    constexpr std::chrono::seconds kLongEnough{10};  // a launcher that lived this long did start
    const auto now = std::chrono::steady_clock::now();
    if (connected_ && now - connected_since_ >= kLongEnough) failures_ = 0;
    disconnect();
    ++failures_;
    const std::string reason = why ? "" : why.error().message;
    // Logs it once rather than every minute.
    if (told_to_stop_) {
      os::log_info("the launcher has stopped");
    } else if (failures_ <= 1) {
      os::log_warning("the launcher is gone: " + reason);
    } else if (reason != problem_) {
      os::log_error("the launcher is gone again: " + reason +
                    "; the next tries come ever later, up to a minute");
    }
    problem_ = reason;
    if (callbacks_.on_lost_connection) callbacks_.on_lost_connection(std::move(why));  // may destroy this
  }

  void connect() {
    auto socket = rpc::connect_to(launcher_socket_path(options_.home));
    if (!socket) {
      bool nobody_there = socket.error().code == ENOENT || socket.error().code == ECONNREFUSED;
      if (nobody_there && options_.await) return connect_later();
      if (!nobody_there) return lose(failure(socket.error()));
      if (!may_start_) return lose(failure("it does not start: " + why_it_ended()));
      return start_one();
    }
    rpc::Connection::Callbacks callbacks;
    callbacks.on_frame = [this](std::string_view frame, std::vector<os::UniqueFd>) { receive(frame); };
    callbacks.on_close = [this](Status why) {
      lose(why ? failure("the launcher has closed the connection") : std::move(why));
    };
    connection_ =
        rpc::Connection::start(loop_, std::move(*socket), rpc::kMaxReplyBytes, std::move(callbacks));
    DaemonMessage first;
    first.set_inventory(true);
    connection_->send(first);
  }

  void connect_later() {
    constexpr std::chrono::milliseconds kBeforeNextTry{200};
    if (may_start_) os::log_info("waiting for somebody to start the launcher");
    may_start_ = false;
    try_after(kBeforeNextTry);
  }

  void start_one() {
    may_start_ = false;
    log_bytes_ = file_size(options_.log_path);
    auto ready = start_launcher(options_);
    if (!ready) return lose(failure(ready.error()));
    ready_ = std::move(*ready);
    // Ready or not (another launcher may have won the race), what counts is whether one answers now.
    ready_watch_ = loop_.on_readable(ready_.get(), [this] {
      ready_watch_.reset();
      ready_.reset();
      connect();
    });
  }

  // The last messages of the launcher that was started and has ended.
  std::string why_it_ended() const {
    constexpr size_t kMost = 4096;
    const std::string said = read_from(options_.log_path, log_bytes_, kMost);
    const size_t end = said.find_last_not_of('\n');
    if (end == std::string::npos) return "it ended before it was ready, and said nothing";
    const size_t before = said.rfind('\n', end);
    std::string line = said.substr(before + 1, end - before);
    constexpr std::string_view kOwnWords = "] launcher: ";
    if (const size_t at = line.find(kOwnWords); at != std::string::npos) line.erase(0, at + kOwnWords.size());
    for (char& c : line)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    return line;
  }

  void receive(std::string_view frame) {
    LauncherMessage message;
    if (!message.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) {
      return lose(failure("the launcher sent what is no message"));
    }
    switch (message.body_case()) {
      case LauncherMessage::kInventory:
        connected_ = true;
        connected_since_ = std::chrono::steady_clock::now();
        return callbacks_.on_inventory(std::move(*message.mutable_inventory()));
      case LauncherMessage::kStarted:
        return callbacks_.on_started(std::move(*message.mutable_started()));
      case LauncherMessage::kTaskEnded:
        return callbacks_.on_task_ended(std::move(*message.mutable_task_ended()));
      case LauncherMessage::kEnded:
        return callbacks_.on_ended(std::move(*message.mutable_ended()));
      case LauncherMessage::kJobEnded:
        return callbacks_.on_job_ended(std::move(*message.mutable_job_ended()));
      case LauncherMessage::BODY_NOT_SET:
        return;
    }
  }

  os::EventLoop& loop_;
  LauncherClientOptions options_;
  Callbacks callbacks_;
  std::unique_ptr<rpc::Connection> connection_;
  os::UniqueFd ready_;
  std::unique_ptr<os::EventLoop::Watch> ready_watch_;
  std::unique_ptr<os::EventLoop::Timer> timer_;  // to the next try
  std::chrono::steady_clock::time_point connected_since_;
  bool told_to_stop_ = false;
  int failures_ = 0;     // in a row
  std::string problem_;  // of the last one
  off_t log_bytes_ = 0;  // size of the log before the last start
  bool connected_ = false;
  bool may_start_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// Removes the marker of the job that this process may run in: the launcher does not belong to the job.
std::vector<char*> environment_without_marker() {
  std::vector<char*> environment;
  constexpr size_t kLength = sizeof kLaunchMarker - 1;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    bool marker = std::strncmp(*variable, kLaunchMarker, kLength) == 0 && (*variable)[kLength] == '=';
    if (!marker) environment.push_back(*variable);
  }
  environment.push_back(nullptr);
  return environment;
}

}  // namespace

std::unique_ptr<LauncherClient> make_launcher_client(os::EventLoop& loop, LauncherClientOptions options,
                                                     LauncherClient::Callbacks callbacks) {
  return std::make_unique<SocketLauncherClient>(loop, std::move(options), std::move(callbacks));
}

Result<os::UniqueFd> start_launcher(const LauncherClientOptions& options) {
  const std::string& log_path = options.log_path.empty() ? "/dev/null" : options.log_path;
  os::UniqueFd log(::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) return failure_from_errno(log_path, errno);
  os::UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) return failure_from_errno("/dev/null", errno);
  auto pipe = os::make_pipe();
  if (!pipe) return failure(pipe.error());
  auto& [reading, writing] = *pipe;
  std::vector<char*> arguments;
  for (const std::string& argument : options.command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment = environment_without_marker();

  // Forks twice, so that nobody has to wait for the launcher's end. The children may make only
  // async-signal-safe calls, because other threads of the daemon may hold any lock.
  pid_t child = ::fork();
  if (child < 0) return failure_from_errno("cannot fork", errno);
  if (child == 0) {
    ::setsid();
    pid_t grandchild = ::fork();
    if (grandchild != 0) ::_exit(grandchild < 0 ? 1 : 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(null.get(), STDIN_FILENO);
    ::dup2(writing.get(), STDOUT_FILENO);
    ::dup2(log.get(), STDERR_FILENO);
    ::close_range(3, ~0U, 0);
    ::execve(arguments[0], arguments.data(), environment.data());
    constexpr std::string_view kNotExecuted = "the program cannot be executed\n";
    (void)!::write(STDERR_FILENO, kNotExecuted.data(), kNotExecuted.size());
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return std::move(reading);
}

}  // namespace minke::node
