#include "helpers/job_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/result.h"
#include "helpers/relayed_connection.h"
#include "os/confine_self.h"
#include "os/fd.h"
#include "os/pipe.h"
#include "view/output.h"

namespace minke::helpers {

namespace {

constexpr size_t kMostConnections = 200;
constexpr int kTries = 5;  // each with another port
constexpr int kPatienceMilliseconds = 10000;

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Returns a port that is free now. If somebody else takes it, tinyproxy fails; we do not connect to them.
uint16_t free_port() {
  const os::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return 0;
  return ntohs(address.sin_port);
}

// Returns a file without a name, for a program that gets /proc/self/fd/N.
Result<os::UniqueFd> unnamed_file(const std::string& text) {
  os::UniqueFd file(::memfd_create("proxy", 0));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return failure_from_errno("memfd", errno);
  return file;
}

std::string path_of(const os::UniqueFd& file) {
  return "/proc/self/fd/" + std::to_string(file.get());
}

// Returns regular expressions, one on each line.
std::string filter(const std::vector<std::string>& allowed) {
  std::string text;
  for (const std::string& host : allowed) {
    text += host.starts_with('.') ? "^(.*\\.)?" : "^";
    for (const char c : host.substr(host.starts_with('.') ? 1 : 0))
      text += c == '.' ? "\\." : std::string(1, c);
    text += "$\n";
  }
  return text;
}

std::string settings(const JobProxyOptions& options, uint16_t port, const std::string& filter_path) {
  std::string text = "Port " + std::to_string(port) +
                     "\nListen 127.0.0.1\nAllow 127.0.0.1\nTimeout 600\nMaxClients " +
                     std::to_string(kMostConnections) + "\nLogLevel Info\nDisableViaHeader Yes\nFilter \"" +
                     filter_path + "\"\nFilterExtended On\nFilterDefaultDeny Yes\n";
  for (const uint16_t connect : options.connect_ports)
    text += "ConnectPort " + std::to_string(connect) + "\n";
  if (!options.upstream.empty()) text += "upstream http " + options.upstream + "\n";
  return text;
}

struct Proxy {
  uint16_t port = 0;
  os::UniqueFd log;  // its output; its end is the proxy's
};

// Reads on until the proxy reports that it serves.
Status wait_until_it_serves(int log) {
  std::string said;
  while (said.find("Accepting connections") == std::string::npos) {
    pollfd one{log, POLLIN, 0};
    char buffer[4096];
    const ssize_t got = ::poll(&one, 1, kPatienceMilliseconds) == 1 ? ::read(log, buffer, sizeof buffer) : -1;
    if (got <= 0) return failure("tinyproxy does not begin to serve: " + said.substr(0, 500));
    said.append(buffer, static_cast<size_t>(got));
  }
  return {};
}

Result<Proxy> start(const JobProxyOptions& options) {
  const auto hosts = unnamed_file(filter(options.allowed));
  if (!hosts) return failure(hosts.error());
  Proxy proxy;
  proxy.port = free_port();
  const auto file = unnamed_file(settings(options, proxy.port, path_of(*hosts)));
  if (!file) return failure(file.error());
  auto pipe = os::make_pipe();
  if (!pipe) return failure(pipe.error());
  proxy.log = std::move(pipe->reader);
  os::UniqueFd& output = pipe->writer;
  const std::string path = path_of(*file);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return failure_from_errno("fork", errno);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, 0);
    ::dup2(output.get(), 1);
    ::dup2(output.get(), 2);
    ::signal(SIGPIPE, SIG_DFL);
    if (::getppid() == parent)
      ::execl(options.program.c_str(), options.program.c_str(), "-d", "-c", path.c_str(), nullptr);
    ::dprintf(2, "%s: cannot be started (Debian: apt-get install tinyproxy-bin)\n", options.program.c_str());
    ::_exit(127);
  }
  output.reset();
  if (const Status serves = wait_until_it_serves(proxy.log.get()); !serves) {
    ::kill(child, SIGKILL);
    return failure(serves.error());
  }
  return proxy;
}

void accept_one(int listening, uint16_t port, RelayedConnections& connections) {
  os::UniqueFd job(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
  if (!job) return;
  os::UniqueFd proxy(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  if (!proxy || ::connect(proxy.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return;
  connections.emplace_back(std::move(job), std::move(proxy));
}

// Runs until the proxy ends.
void relay(int listening, const Proxy& proxy) {
  RelayedConnections connections;
  for (;;) {
    std::vector<pollfd> polled = {{proxy.log.get(), POLLIN, 0}, {listening, POLLIN, 0}};
    if (connections.size() >= kMostConnections) polled[1].events = 0;
    const size_t first = polled.size();
    await_all(connections, polled);
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    char said[4096];
    if (polled[0].revents != 0 && ::read(proxy.log.get(), said, sizeof said) == 0) return;
    move_all(connections, polled, first);
    if (polled[1].revents != 0) accept_one(listening, proxy.port, connections);
  }
}

}  // namespace

int job_proxy(const JobProxyOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_IGN);
  if (!os::confine_self(os::helper_account())) {
    view::print_error("minke job-proxy", "cannot give up root's rights");
    return 1;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // after the change of user, which would undo it
  Result<Proxy> proxy = failure("");
  for (int i = 0; i < kTries && !proxy; ++i) proxy = start(options);
  if (!proxy) {
    view::print_error("minke job-proxy", proxy.error().message);
    return 1;
  }
  relay(STDIN_FILENO, *proxy);
  return 1;
}

}  // namespace minke::helpers
