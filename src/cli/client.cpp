#include "cli/client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <thread>
#include <vector>

#include "node/launch.pb.h"
#include "node/launcher.h"
#include "os/detached.h"
#include "os/minke_home.h"
#include "rpc/merge.h"

namespace minke::cli {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kStartTimeout = 30s;  // a daemon that recovers a long queue takes a moment
constexpr auto kReconnectTimeout = 60s;
constexpr int kStarts = 5;  // of a daemon that ends before it is ready

bool nobody_listens(int error_number) {
  return error_number == ENOENT || error_number == ECONNREFUSED;
}
bool connection_lost(int code) {
  return code == ECONNRESET || code == EPIPE || code == ENOTCONN;
}

// What a daemon says: "ready", "busy" (another one was faster), or why it cannot start. Nothing: it came to
// an end before that. Error: the time is over.
Result<std::string> first_line(int output, Clock::time_point deadline) {
  std::string said;
  while (said.find('\n') == std::string::npos) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd descriptor{output, POLLIN, 0};
    if (left <= 0) return failure("the time is over", ETIMEDOUT);
    const int ready = ::poll(&descriptor, 1, static_cast<int>(left));
    if (ready <= 0) continue;
    char buffer[4096];
    const ssize_t got = ::read(output, buffer, sizeof(buffer));
    if (got <= 0) break;
    said.append(buffer, static_cast<size_t>(got));
  }
  return said.substr(0, said.find('\n'));
}

// Where this command runs in a job, by the launcher, which is outside of it: a daemon that this process
// started would have the job's processors, limits, groups and namespaces. What the daemon says; empty: the
// launcher leaves it to us, or there is none.
Result<std::string> start_by_launcher(const std::string& home, const std::string& program,
                                      Clock::time_point deadline) {
  auto launcher = rpc::Channel::connect(node::launcher_socket_path(home));
  if (!launcher) return std::string();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failure_from_errno("pipe", errno);
  const os::UniqueFd reader(ends[0]);
  os::UniqueFd writer(ends[1]);
  node::DaemonMessage message;
  message.mutable_start_daemon()->set_program(program);
  const int passed[] = {writer.get()};
  if (!launcher->send(message, passed)) return std::string();
  writer.reset();
  // One that speaks another version answers nothing, and one that hangs does not keep the pipe from ending.
  return first_line(reader.get(), deadline);
}

}  // namespace

Error error_of(const rpc::Error& error) {
  Error result{static_cast<int>(error.code()), error.message()};
  if (!error.detail().empty()) result.message += " (" + error.detail() + ")";
  return result;
}

Status start_daemon(const std::string& home) {
  char self[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (length <= 0) return failure_from_errno("/proc/self/exe", errno);
  self[length] = '\0';
  const auto deadline = Clock::now() + kStartTimeout;
  auto line = start_by_launcher(home, self, deadline);
  if (line && line->empty()) {
    std::vector<std::string> command = {self, "daemon", "--home", home};
    // In a job whose launcher is gone: it has to get out by itself.
    if (std::getenv(node::kLaunchMarker) != nullptr) command.emplace_back("--leave-job");
    auto output = os::start_detached({.argv = std::move(command),
                                      .log_path = os::log_path(home),
                                      .without_variables = {node::kLaunchMarker, "SLURM_*", "SBATCH_*"}});
    if (!output) return failure(output.error());
    line = first_line(output->get(), deadline);
  }
  if (!line) return failure("the daemon did not answer within 30 s; see " + os::log_path(home));
  if (*line == "ready" || *line == "busy") return {};
  if (line->empty()) return failure("the daemon ended while it started; see " + os::log_path(home), EINTR);
  return failure(*line);
}

Result<Client> Client::connect(bool start) {
  auto home = os::minke_home();
  if (!home) return failure(home.error());
  Client client;
  client.home_ = *home;
  if (!start) {
    auto channel = rpc::Channel::connect(os::socket_path(*home));
    if (!channel) return failure("no daemon runs", ECONNREFUSED);
    client.channel_ = std::make_unique<rpc::Channel>(std::move(*channel));
    return client;
  }
  if (const Status connected = client.reconnect(); !connected) return failure(connected.error());
  return client;
}

Status Client::reconnect() {
  const auto deadline = Clock::now() + kReconnectTimeout;
  int ended_early = 0;
  for (auto pause = 1ms;; pause = std::min(pause * 2, 200ms)) {
    auto channel = rpc::Channel::connect(os::socket_path(home_));
    if (channel) {
      channel_ = std::make_unique<rpc::Channel>(std::move(*channel));
      return {};
    }
    if (!nobody_listens(channel.error().code)) {
      return failure("the daemon cannot be reached: " + channel.error().message, channel.error().code);
    }
    if (Clock::now() > deadline) return failure("the daemon cannot be reached: " + channel.error().message);
    if (os::is_shared(home_)) {
      // Root's to start. Who had it a moment ago waits for it to come back.
      if (!channel_)
        return failure("the cluster is down; an administrator can start it: minke up --shared", ECONNREFUSED);
      std::this_thread::sleep_for(pause);
      continue;
    }
    if (const Status started = start_daemon(home_); !started) {
      // Killed by somebody, perhaps: that is no reason to give up at once.
      if (started.error().code != EINTR || ++ended_early == kStarts) return started;
    }
    // Started, or being started by somebody else: soon it listens.
    std::this_thread::sleep_for(pause);
  }
}

Status Client::stream(rpc::ClientMessage request,
                      const std::function<Status(rpc::ServerMessage&)>& on_message) {
  bool delivered = false;
  for (int attempt = 0;; ++attempt) {
    const uint32_t id = next_request_id_++;
    request.set_request_id(id);
    Status outcome = channel_->send(request);
    while (outcome) {
      rpc::ServerMessage message;
      outcome = channel_->receive(message);
      if (!outcome) break;
      if (message.request_id() != id && message.request_id() != 0) continue;
      if (message.has_error()) return failure(error_of(message.error()));
      delivered = true;
      const bool last = message.last();  // on_message may take the message away
      if (const Status taken = on_message(message); !taken) return taken;
      if (last) return {};
    }
    // Half an answer cannot be asked for again, unless it is the kind that only reports a change.
    if (!connection_lost(outcome.error().code) || attempt >= 100 || (delivered && !request.has_wait_job())) {
      return outcome;
    }
    if (const Status connected = reconnect(); !connected) return connected;
  }
}

Result<rpc::ServerMessage> Client::call(rpc::ClientMessage request) {
  rpc::ServerMessage answer;
  const Status outcome = stream(std::move(request), [&](rpc::ServerMessage& message) -> Status {
    rpc::merge_answer(answer, std::move(message));
    return {};
  });
  if (!outcome) return failure(outcome.error());
  return answer;
}

std::string random_key() {
  std::string key(16, '\0');
  MINKE_CHECK(::getrandom(key.data(), key.size(), 0) == static_cast<ssize_t>(key.size()));
  return key;
}

}  // namespace minke::cli
