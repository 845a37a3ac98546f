#include "helpers/metrics_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/embedded/client.h"
#include "engine/open.h"
#include "os/confine_self.h"
#include "os/fd.h"
#include "rpc/channel.h"
#include "rpc/envelope.h"
#include "rpc/messages.pb.h"
#include "view/metrics_text.h"
#include "view/output.h"

namespace minke::helpers {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostRequestBytes = 8192;
constexpr std::chrono::seconds kPatience(5);      // from a connection to the answer's last byte
constexpr size_t kMostConnections = 64;           // the oldest one makes room
constexpr std::chrono::milliseconds kFresh(500);  // frequent requests do not keep the daemon busy

Result<os::UniqueFd> listen_at(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return failure("'" + address + "' is not HOST:PORT", EINVAL);
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error =
          ::getaddrinfo(host.empty() ? nullptr : host.c_str(), address.c_str() + colon + 1, &hints, &found);
      error != 0)
    return failure(address + ": " + ::gai_strerror(error), EINVAL);
  Error problem{EADDRNOTAVAIL, address};
  os::UniqueFd socket;
  for (const addrinfo* one = found; one != nullptr && !socket; one = one->ai_next) {
    os::UniqueFd next(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    if (next) ::setsockopt(next.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (next && ::bind(next.get(), one->ai_addr, one->ai_addrlen) == 0 &&
        ::listen(next.get(), SOMAXCONN) == 0) {
      socket = std::move(next);
    } else {
      problem = failure_from_errno(address, errno).value();
    }
  }
  ::freeaddrinfo(found);
  if (!socket) return failure(problem);
  return socket;
}

struct Connection {
  os::UniqueFd socket;
  Clock::time_point deadline;
  std::string request;
  std::string answer;  // empty: the request is incomplete
  size_t sent = 0;
};

// Returns false if the client left, or asks for too much.
bool read_some(Connection& connection) {
  char buffer[1024];
  const ssize_t got = ::recv(connection.socket.get(), buffer, sizeof buffer, 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  connection.request.append(buffer, static_cast<size_t>(got));
  return got > 0 && connection.request.size() <= kMostRequestBytes;
}

// Returns false once all is sent, or the client left.
bool send_some(Connection& connection) {
  const std::string_view left = std::string_view(connection.answer).substr(connection.sent);
  const ssize_t sent = ::send(connection.socket.get(), left.data(), left.size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  connection.sent += static_cast<size_t>(sent);
  return connection.sent < connection.answer.size();
}

// Returns the path of a GET; empty for anything else.
std::string path_of(const std::string& request) {
  if (!request.starts_with("GET ")) return "";
  const std::string path = request.substr(4, request.find_first_of(" \r", 4) - 4);
  return path.substr(0, path.find('?'));
}

std::string reply(std::string_view status, std::string_view type, const std::string& body) {
  return "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: " + std::string(type) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

// Asks once: it does not restart a daemon that is gone.
Status ask(rpc::Channel& daemon, const rpc::ClientMessage& request, view::MetricsFacts& facts) {
  if (const Status sent = daemon.send(request); !sent) return sent;
  for (;;) {
    rpc::ServerMessage answer;
    if (const Status got = daemon.receive(answer); !got) return got;
    if (answer.has_error()) return failure(rpc::error_of(answer));
    if (answer.has_measurements()) facts.measured = std::move(*answer.mutable_measurements());
    if (answer.has_diagnostics()) facts.diagnostics = std::move(*answer.mutable_diagnostics());
    facts.nodes.insert(facts.nodes.end(), answer.nodes().nodes().begin(), answer.nodes().nodes().end());
    facts.partitions.insert(facts.partitions.end(), answer.partitions().partitions().begin(),
                            answer.partitions().partitions().end());
    if (answer.last()) return {};
  }
}

Result<view::MetricsFacts> ask(rpc::Channel& daemon) {
  view::MetricsFacts facts;
  rpc::ClientMessage measurements, diagnostics, nodes, partitions;
  measurements.mutable_query_measurements()->set_with_counts(true);
  diagnostics.mutable_query_diagnostics();
  nodes.mutable_query_nodes();
  partitions.mutable_query_partitions();
  for (const rpc::ClientMessage* request : {&measurements, &diagnostics, &nodes, &partitions}) {
    if (const Status asked = ask(daemon, *request, facts); !asked) return failure(asked.error());
  }
  return facts;
}

// The connected clients and their answers. One poll waits for all of them: nobody holds up the others.
class Server {
 public:
  Server(engine::embedded::Client& client, os::UniqueFd listening)
      : client_(client), listening_(std::move(listening)) {}

  // Runs until standard input is closed, or the daemon is gone. Returns an exit code.
  int run() {
    while (!daemon_gone_) {
      const auto now = Clock::now();
      std::erase_if(connections_, [&](const Connection& one) { return one.deadline <= now; });
      std::vector<pollfd> events{{STDIN_FILENO, POLLIN, 0}, {listening_.get(), POLLIN, 0}};
      for (const Connection& one : connections_)
        events.push_back({one.socket.get(), static_cast<short>(one.answer.empty() ? POLLIN : POLLOUT), 0});
      if (::poll(events.data(), events.size(), milliseconds_left(now)) < 0) {
        if (errno == EINTR) continue;
        view::print_error("minke metrics-server", failure_from_errno("poll", errno).value().message);
        return 1;
      }
      if (events[0].revents != 0) return 0;
      for (size_t i = 0; i < connections_.size(); ++i) {
        if (events[i + 2].revents != 0 && !go_on(connections_[i])) connections_[i].socket.reset();
      }
      std::erase_if(connections_, [](const Connection& one) { return !one.socket; });
      if (events[1].revents != 0) accept_one();
    }
    return 1;
  }

 private:
  int milliseconds_left(Clock::time_point now) const {
    if (connections_.empty()) return -1;
    const auto left = connections_.front().deadline - now;
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
  }

  void accept_one() {
    os::UniqueFd socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    if (connections_.size() == kMostConnections) connections_.erase(connections_.begin());
    connections_.push_back({std::move(socket), Clock::now() + kPatience, "", "", 0});
  }

  // Returns false when the connection is over.
  bool go_on(Connection& connection) {
    if (connection.answer.empty()) {
      if (!read_some(connection)) return false;
      if (connection.request.find("\r\n\r\n") == std::string::npos) return true;
      connection.answer = answer(path_of(connection.request));
    }
    return send_some(connection);
  }

  std::string answer(const std::string& path) {
    if (path.empty()) return reply("405 Method Not Allowed", "text/plain", "GET only\n");
    if (!facts_ || Clock::now() - asked_at_ > kFresh) {
      auto asked = ask(client_.channel());
      if (!asked) {
        daemon_gone_ = true;
        return reply("503 Service Unavailable", "text/plain", asked.error().message + "\n");
      }
      facts_ = std::move(*asked);
      asked_at_ = Clock::now();
    }
    const std::string text = view::metrics_text(*facts_, path);
    if (text.empty()) return reply("404 Not Found", "text/plain", "see /metrics\n");
    return reply("200 OK", "text/plain; version=0.0.4; charset=utf-8", text);
  }

  engine::embedded::Client& client_;
  os::UniqueFd listening_;
  std::vector<Connection> connections_;  // in the order of their deadlines
  std::optional<view::MetricsFacts> facts_;
  Clock::time_point asked_at_;
  bool daemon_gone_ = false;
};

int fail(const Error& error) {
  view::print_error("minke metrics-server", error.message);
  return 1;
}

}  // namespace

int serve_metrics(const std::string& home, const std::string& address) {
  ::signal(SIGPIPE, SIG_IGN);
  ::setenv("MINKE_HOME", home.c_str(), 1);
  auto listening = listen_at(address);
  if (!listening) return fail(listening.error());
  // The daemon knows the connection by the user at its start; outside input is read without rights.
  const auto cluster = engine::open(engine::Start::kNever);
  if (!cluster) return fail(cluster.error());
  const auto client = (*cluster)->steps_with_descriptors();
  if (!client) return fail(client.error());
  if (!os::confine_self(os::helper_account())) return fail({EPERM, "cannot give up root's rights"});
  return Server(**client, std::move(*listening)).run();
}

}  // namespace minke::helpers
