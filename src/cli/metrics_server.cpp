#include "cli/metrics_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "cli/client.h"
#include "cli/display/metrics_text.h"
#include "cli/fetch.h"
#include "os/become.h"
#include "os/fd.h"
#include "rpc/channel.h"

namespace minke::cli {

namespace {

constexpr size_t kMostRequestBytes = 8192;
constexpr int kPatienceMilliseconds = 5000;  // with who does not ask, or does not read the answer
constexpr uid_t kNobody = 65534;

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
    if (next && ::bind(next.get(), one->ai_addr, one->ai_addrlen) == 0 && ::listen(next.get(), 16) == 0) {
      socket = std::move(next);
    } else {
      problem = failure_from_errno(address, errno).value();
    }
  }
  ::freeaddrinfo(found);
  if (!socket) return failure(problem);
  return socket;
}

bool ready(int fd, short what) {
  pollfd one{fd, what, 0};
  return ::poll(&one, 1, kPatienceMilliseconds) == 1;
}

// The path of a GET; empty: it is something else. Nothing: the client left, or takes too long.
std::optional<std::string> read_request(int socket) {
  std::string request;
  while (request.find("\r\n\r\n") == std::string::npos) {
    char buffer[1024];
    if (request.size() > kMostRequestBytes || !ready(socket, POLLIN)) return std::nullopt;
    const ssize_t got = ::recv(socket, buffer, sizeof buffer, 0);
    if (got <= 0) return std::nullopt;
    request.append(buffer, static_cast<size_t>(got));
  }
  if (!request.starts_with("GET ")) return "";
  std::string path = request.substr(4, request.find_first_of(" \r", 4) - 4);
  return path.substr(0, path.find('?'));
}

void send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    if (!ready(socket, POLLOUT)) return;
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0 && errno != EAGAIN) return;
    text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(sent, 0)));
  }
}

void reply(int socket, std::string_view status, std::string_view type, const std::string& body) {
  send_all(socket, "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: " + std::string(type) +
                       "\r\nContent-Length: " + std::to_string(body.size()) +
                       "\r\nConnection: close\r\n\r\n" + body);
}

// Asks once: a daemon that is gone is not started again for this.
Status ask(rpc::Channel& daemon, const rpc::ClientMessage& request, MetricsFacts& facts) {
  if (const Status sent = daemon.send(request); !sent) return sent;
  for (;;) {
    rpc::ServerMessage answer;
    if (const Status got = daemon.receive(answer); !got) return got;
    if (answer.has_error()) return failure(error_of(answer.error()));
    if (answer.has_measurements()) facts.measured = std::move(*answer.mutable_measurements());
    if (answer.has_diagnostics()) facts.diagnostics = std::move(*answer.mutable_diagnostics());
    facts.nodes.insert(facts.nodes.end(), answer.nodes().nodes().begin(), answer.nodes().nodes().end());
    facts.partitions.insert(facts.partitions.end(), answer.partitions().partitions().begin(),
                            answer.partitions().partitions().end());
    if (answer.last()) return {};
  }
}

Result<MetricsFacts> ask(rpc::Channel& daemon) {
  MetricsFacts facts;
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

// False: the daemon is gone.
bool serve(int socket, Client& client) {
  const auto path = read_request(socket);
  if (!path) return true;
  if (path->empty()) return reply(socket, "405 Method Not Allowed", "text/plain", "GET only\n"), true;
  const auto facts = ask(client.channel());
  if (!facts)
    return reply(socket, "503 Service Unavailable", "text/plain", facts.error().message + "\n"), false;
  const std::string text = metrics_text(*facts, *path);
  if (text.empty()) return reply(socket, "404 Not Found", "text/plain", "see /metrics\n"), true;
  reply(socket, "200 OK", "text/plain; version=0.0.4; charset=utf-8", text);
  return true;
}

int fail(const Error& error) {
  print_error("minke metrics-server", error.message);
  return 1;
}

}  // namespace

int serve_metrics(const std::string& home, const std::string& address) {
  ::signal(SIGPIPE, SIG_IGN);
  ::setenv("MINKE_HOME", home.c_str(), 1);
  auto listening = listen_at(address);
  if (!listening) return fail(listening.error());
  // The daemon knows it as who it was when it connected; what comes from outside is read without rights.
  auto client = Client::connect(false);
  if (!client) return fail(client.error());
  if (::geteuid() == 0) {
    if (!os::become(kNobody, kNobody, {})) return fail({EPERM, "cannot give up root's rights"});
  }
  for (;;) {
    pollfd events[] = {{STDIN_FILENO, POLLIN, 0}, {listening->get(), POLLIN, 0}};
    if (::poll(events, 2, -1) < 0 && errno != EINTR) return fail(failure_from_errno("poll", errno).value());
    if (events[0].revents != 0) return 0;
    if (events[1].revents == 0) continue;
    const os::UniqueFd socket(::accept4(listening->get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket && !serve(socket.get(), *client)) return 1;
  }
}

}  // namespace minke::cli
