#include "node/launcher_client.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "node/launcher.h"
#include "os/log.h"
#include "rpc/connection.h"
#include "rpc/frame.h"

extern char** environ;

namespace minke::node {
namespace {

class SocketLauncherClient : public LauncherClient {
 public:
  SocketLauncherClient(os::EventLoop& loop, LauncherClientOptions options, Callbacks callbacks)
      : loop_(loop), options_(std::move(options)), callbacks_(std::move(callbacks)) {
    if (options_.command.empty()) options_.command = {"/proc/self/exe", "launcher", "--home", options_.home};
  }

  void start() override {
    disconnect();
    may_start_ = true;
    // Not here: its outcome is a callback.
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
    send(message);
  }
  bool connected() const override { return connected_; }

 private:
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
    disconnect();
    if (callbacks_.on_lost_connection) callbacks_.on_lost_connection(std::move(why));  // may destroy this
  }

  void connect() {
    auto socket = rpc::connect_to(launcher_socket_path(options_.home));
    if (!socket) {
      bool nobody_there = socket.error().code == ENOENT || socket.error().code == ECONNREFUSED;
      if (nobody_there && options_.await) return connect_later();
      if (!nobody_there || !may_start_) return lose(failure(socket.error()));
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
    if (!timer_) timer_ = loop_.make_timer([this] { connect(); });
    if (may_start_) os::log_info("waiting for somebody to start the launcher");
    may_start_ = false;
    timer_->set_after(kBeforeNextTry);
  }

  void start_one() {
    may_start_ = false;
    auto ready = start_launcher(options_);
    if (!ready) return lose(failure(ready.error()));
    ready_ = std::move(*ready);
    // Ready or not (another one may have won the race): what counts is whether somebody answers now.
    ready_watch_ = loop_.on_readable(ready_.get(), [this] {
      ready_watch_.reset();
      ready_.reset();
      connect();
    });
  }

  void receive(std::string_view frame) {
    LauncherMessage message;
    if (!message.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) {
      return lose(failure("the launcher sent what is no message"));
    }
    switch (message.body_case()) {
      case LauncherMessage::kInventory:
        connected_ = true;
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
  std::unique_ptr<os::EventLoop::Timer> timer_;  // while one is awaited
  bool connected_ = false;
  bool may_start_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// Without the marker of the job that this process may run in: the launcher is not of the job.
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
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failure_from_errno("pipe", errno);
  os::UniqueFd reading(ends[0]);
  os::UniqueFd writing(ends[1]);
  std::vector<char*> arguments;
  for (const std::string& argument : options.command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment = environment_without_marker();

  // Twice, so that nobody has to wait for the launcher's end. Only async-signal-safe calls in the children:
  // other threads of the daemon may hold any lock.
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
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return reading;
}

}  // namespace minke::node
