#include "helpers/job_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "helpers/relayed_connection.h"
#include "os/confine_self.h"
#include "os/fd.h"
#include "os/pass_descriptors.h"
#include "os/tcp_sockets.h"
#include "view/output.h"

namespace minke::helpers {

namespace {

constexpr size_t kMostPorts = 64;         // in each direction
constexpr size_t kMostConnections = 200;  // in both together
constexpr int kMostWaiting = 64;
constexpr int kAnswered = 100;         // ms: a loopback has answered by then, but for a program that is busy
constexpr uint16_t kFirstPort = 1024;  // below it are services of the machine
constexpr std::chrono::milliseconds kBetweenLooks(500);

using Ports = std::set<uint16_t>;

sockaddr_in loopback_at(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// What is done in one of the two networks.
class Side {
 public:
  virtual ~Side() = default;
  virtual Ports listened() = 0;  // by the user; at most kMostPorts
  virtual os::UniqueFd listen_at(uint16_t port) = 0;
  virtual os::UniqueFd connect_to(uint16_t port) = 0;
};

// The network of this process.
class Here : public Side {
 public:
  Here(os::TcpSockets sockets, uint32_t user) : sockets_(std::move(sockets)), user_(user) {}

  Ports listened() override {
    auto all = sockets_.listened_by(user_);
    if (!all) return {};
    all->erase(all->begin(), all->lower_bound(kFirstPort));
    while (all->size() > kMostPorts) all->erase(std::prev(all->end()));
    return std::move(*all);
  }
  os::UniqueFd listen_at(uint16_t port) override {
    os::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_in address = loopback_at(port);
    const int on = 1;
    if (socket) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(socket.get(), kMostWaiting) != 0)
      return {};
    return socket;
  }
  os::UniqueFd connect_to(uint16_t port) override {
    const sockaddr_in address = loopback_at(port);
    os::UniqueFd socket = connected(reinterpret_cast<const sockaddr*>(&address), sizeof address);
    if (socket) return socket;
    sockaddr_in6 other{};  // of a program that listens there alone
    other.sin6_family = AF_INET6;
    other.sin6_port = htons(port);
    other.sin6_addr = in6addr_loopback;
    return connected(reinterpret_cast<const sockaddr*>(&other), sizeof other);
  }
  bool is_of_user(int connection) const {
    sockaddr_in from{}, to{};
    socklen_t from_size = sizeof from, to_size = sizeof to;
    if (::getpeername(connection, reinterpret_cast<sockaddr*>(&from), &from_size) != 0 ||
        ::getsockname(connection, reinterpret_cast<sockaddr*>(&to), &to_size) != 0)
      return false;
    return sockets_.owner_of(from, to) == user_;
  }

 private:
  static os::UniqueFd connected(const sockaddr* address, socklen_t size) {
    os::UniqueFd socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return {};
    if (::connect(socket.get(), address, size) == 0) return socket;
    if (errno != EINPROGRESS) return {};
    pollfd ready{socket.get(), POLLOUT, 0};
    (void)::poll(&ready, 1, kAnswered);
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    return error == 0 ? std::move(socket) : os::UniqueFd();
  }
  os::TcpSockets sockets_;
  uint32_t user_;
};

// What the process in the jobs' network is asked. It answers with ports, or with a socket.
struct Wish {
  enum Kind : uint16_t { kListened, kListen, kConnect } kind;
  uint16_t port;
};
struct Reply {
  uint16_t count = 0;
  std::array<uint16_t, kMostPorts> ports{};
};

void send_reply(int channel, const Reply& reply, int socket) {
  const std::string_view bytes(reinterpret_cast<const char*>(&reply), sizeof reply);
  (void)os::send_bytes(channel, bytes, std::span(&socket, socket >= 0 ? 1 : 0), 0);
}

// Serves until the other process has ended.
void serve(int channel, Here& here) {
  Wish wish{};
  while (::recv(channel, &wish, sizeof wish, 0) == sizeof wish) {
    Reply reply;
    os::UniqueFd socket;
    if (wish.kind == Wish::kListened) {
      for (const uint16_t port : here.listened()) reply.ports[reply.count++] = port;
    } else {
      socket = wish.kind == Wish::kListen ? here.listen_at(wish.port) : here.connect_to(wish.port);
    }
    send_reply(channel, reply, socket.get());
  }
}

// The jobs' network, through that process.
class There : public Side {
 public:
  explicit There(os::UniqueFd channel) : channel_(std::move(channel)) {}

  Ports listened() override {
    const Reply reply = ask({Wish::kListened, 0}).first;
    const size_t count = std::min<size_t>(reply.count, kMostPorts);
    return Ports(reply.ports.begin(), reply.ports.begin() + static_cast<ptrdiff_t>(count));
  }
  os::UniqueFd listen_at(uint16_t port) override { return ask({Wish::kListen, port}).second; }
  os::UniqueFd connect_to(uint16_t port) override { return ask({Wish::kConnect, port}).second; }
  bool ended() const { return ended_; }

 private:
  std::pair<Reply, os::UniqueFd> ask(const Wish& wish) {
    std::pair<Reply, os::UniqueFd> answer;
    std::vector<os::UniqueFd> sockets;
    const bool sent = ::send(channel_.get(), &wish, sizeof wish, MSG_NOSIGNAL) == sizeof wish;
    auto* reply = reinterpret_cast<char*>(&answer.first);
    if (!sent || os::receive_bytes(channel_.get(), reply, sizeof(Reply), sockets, 0) != sizeof(Reply)) {
      ended_ = true;
      return {};
    }
    if (!sockets.empty()) answer.second = std::move(sockets.back());
    return answer;
  }
  os::UniqueFd channel_;
  bool ended_ = false;
};

// Ports that are listened at in one network, opened in the other.
class Opened {
 public:
  Opened(Side& behind, Side& front, std::function<bool(int connection)> admits)
      : behind_(behind), front_(front), admits_(std::move(admits)) {}

  void look() {
    const Ports wanted = behind_.listened();
    std::erase_if(sockets_, [&](const auto& one) { return !wanted.contains(one.first); });
    for (const uint16_t port : wanted) {
      if (sockets_.contains(port)) continue;
      if (os::UniqueFd socket = front_.listen_at(port)) sockets_.emplace(port, std::move(socket));
    }
  }
  void await(std::vector<pollfd>& polled, bool more) const {
    for (const auto& [port, socket] : sockets_)
      polled.push_back({socket.get(), static_cast<short>(more ? POLLIN : 0), 0});
  }
  void accept_all(const std::vector<pollfd>& polled, size_t at, RelayedConnections& connections) {
    for (const auto& [port, socket] : sockets_) {
      if (polled[at++].revents == 0) continue;
      os::UniqueFd connection(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!connection || !admits_(connection.get())) continue;
      if (os::UniqueFd other = behind_.connect_to(port))
        connections.emplace_back(std::move(connection), std::move(other));
    }
  }
  size_t size() const { return sockets_.size(); }

 private:
  Side& behind_;
  Side& front_;
  std::function<bool(int)> admits_;
  std::map<uint16_t, os::UniqueFd> sockets_;
};

void relay(Here& here, There& there, bool anybody) {
  using Clock = std::chrono::steady_clock;
  Opened of_jobs(there, here, [&](int connection) { return anybody || here.is_of_user(connection); });
  Opened of_machine(here, there, [](int) { return true; });  // only the user's jobs are there
  RelayedConnections connections;
  auto next_look = Clock::now();
  while (!there.ended()) {
    if (Clock::now() >= next_look) {
      of_jobs.look();
      of_machine.look();
      next_look = Clock::now() + kBetweenLooks;
    }
    std::vector<pollfd> polled;
    const bool more = connections.size() < kMostConnections;
    of_jobs.await(polled, more);
    of_machine.await(polled, more);
    const size_t first = polled.size();
    await_all(connections, polled);
    const auto pause = std::chrono::ceil<std::chrono::milliseconds>(next_look - Clock::now());
    const int ready =
        ::poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(0, pause.count())));
    if (ready < 0 && errno != EINTR) return;
    if (ready <= 0) continue;
    move_all(connections, polled, first);
    of_jobs.accept_all(polled, 0, connections);
    of_machine.accept_all(polled, of_jobs.size(), connections);
  }
}

int complain(const char* what) {
  view::print_error("minke job-ports", what);
  return 1;
}

// In the jobs' network: the process that makes sockets there.
int stand_inside(int channel, uint32_t user) {
  if (::setns(STDIN_FILENO, CLONE_NEWNET) != 0) return complain("cannot enter the jobs' network");
  ::close(STDIN_FILENO);
  auto sockets = os::TcpSockets::open();
  if (!sockets || !os::confine_self(os::helper_account())) return complain("cannot give up root's rights");
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Here here(std::move(*sockets), user);
  serve(channel, here);
  return 0;
}

}  // namespace

int job_ports(const JobPortsOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  // Its own sockets would look like the user's.
  if (os::helper_account().uid == options.user) return complain("this account has no ports of jobs");
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return complain("no pair of sockets");
  os::UniqueFd outer(ends[0]), inner(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return complain("cannot fork");
  if (child == 0) {
    outer.reset();
    ::_exit(stand_inside(inner.get(), options.user));
  }
  inner.reset();
  ::close(STDIN_FILENO);
  auto sockets = os::TcpSockets::open();
  if (!sockets || !os::confine_self(os::helper_account())) return complain("cannot give up root's rights");
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Here here(std::move(*sockets), options.user);
  There there(std::move(outer));
  relay(here, there, options.anybody);
  return 1;
}

}  // namespace minke::helpers
