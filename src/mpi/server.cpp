#include "mpi/server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace minke::mpi {
namespace {

// The task's first four bytes are its rank; the answer's first four are the length of the rest: a byte that
// tells whether the connection is PMI's from here on, and variables, each ended by NUL.
constexpr uint32_t kLongestEnvironment = 1 << 20;
constexpr size_t kMostUnsent = size_t{64} << 20;

sockaddr_un abstract_address(const std::string& name, socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t size = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), size);
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  return address;
}

bool read_whole(int fd, void* to, size_t size) {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = ::read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

void signal_event(int fd) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(fd, &one, sizeof one);
}

}  // namespace

struct Server::Connection {
  os::UniqueFd socket;
  std::string in, out;
  std::optional<uint32_t> rank;
  bool introduced = false;
  bool closing = false;  // once everything has been written
};

Server::Server(Kind kind) : kind_(kind) {}

Result<std::unique_ptr<Server>> Server::start(Kind kind) {
  if (kind == Kind::kPmix) {
    if (const Status there = PmixServer::available(); !there) return failure(there.error());
  }
  std::unique_ptr<Server> server(new Server(kind));
  uint64_t random[2];
  if (::getrandom(random, sizeof random, 0) != sizeof random) return failure_from_errno("getrandom", errno);
  server->address_ = "minke-mpi-" + std::to_string(random[0]) + std::to_string(random[1]);
  server->listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  socklen_t length;
  const sockaddr_un address = abstract_address(server->address_, length);
  if (!server->listener_ ||
      ::bind(server->listener_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(server->listener_.get(), SOMAXCONN) != 0) {
    return failure_from_errno("a socket for the tasks", errno);
  }
  server->wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  server->aborted_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  server->thread_ = std::thread([self = server.get()] { self->serve(); });
  return server;
}

Server::~Server() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  signal_event(wake_.get());
  if (thread_.joinable()) thread_.join();
  pmix_.reset();
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

Status Server::begin(StepMap map) {
  std::unique_ptr<PmixServer> pmix;
  if (kind_ == Kind::kPmix) {
    char name[] = "/tmp/minke-pmix-XXXXXX";
    if (::mkdtemp(name) == nullptr) return failure_from_errno("mkdtemp", errno);
    directory_ = name;
    auto started =
        PmixServer::start(map, directory_, [this](PmiAbort abort) { note_abort(std::move(abort)); });
    if (!started) return failure(started.error());
    pmix = std::move(*started);
  }
  const std::lock_guard lock(mutex_);
  space_ = std::make_unique<PmiSpace>(map.job_id, map.node_numbers());
  pmix_ = std::move(pmix);
  map_ = std::move(map);
  signal_event(wake_.get());
  return {};
}

bool Server::left_others(uint32_t rank) {
  const std::lock_guard lock(mutex_);
  if (!map_ || rank >= map_->node_of_rank.size() || map_->node_of_rank.size() == 1) return false;
  if (pmix_) return pmix_->unfinished(rank);
  return space_->initialised(rank) && !space_->finalised(rank);
}

PmiAbort Server::take_abort() {
  uint64_t count;
  [[maybe_unused]] const ssize_t got = ::read(aborted_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return abort_.value_or(PmiAbort());
}

// Called without the lock.
void Server::note_abort(PmiAbort abort) {
  {
    const std::lock_guard lock(mutex_);
    if (abort_) return;
    abort_ = std::move(abort);
  }
  signal_event(aborted_.get());
}

void Server::serve() {
  for (;;) {
    std::vector<pollfd> descriptors = {{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const auto& connection : connections_) {
      descriptors.push_back({connection->socket.get(),
                             static_cast<short>(POLLIN | (connection->out.empty() ? 0 : POLLOUT)), 0});
    }
    if (::poll(descriptors.data(), descriptors.size(), -1) < 0 && errno != EINTR) return;
    uint64_t count;
    [[maybe_unused]] const ssize_t woken = ::read(wake_.get(), &count, sizeof count);
    std::optional<PmiAbort> abort;
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      const size_t known = connections_.size();
      for (size_t i = 0; i < known; ++i) {
        Connection& connection = *connections_[i];
        if (descriptors[i + 2].revents != 0 && !read_from(connection)) connection.socket.reset();
        if (connection.socket && !connection.introduced && !introduce(connection)) connection.socket.reset();
      }
      for (const auto& connection : connections_) {
        if (connection->socket && !write_to(*connection)) connection->socket.reset();
      }
      std::erase_if(connections_, [](const auto& connection) { return !connection->socket; });
      if (space_) abort = space_->aborted();
    }
    if (abort) note_abort(std::move(*abort));
    if (descriptors[1].revents != 0) accept_connections();
  }
}

void Server::accept_connections() {
  for (;;) {
    os::UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.uid != ::getuid())
      continue;
    connections_.push_back(std::make_unique<Connection>());
    connections_.back()->socket = std::move(socket);
  }
}

bool Server::read_from(Connection& connection) {
  char buffer[16 << 10];
  for (;;) {
    const ssize_t got = ::read(connection.socket.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    const std::string_view bytes(buffer, static_cast<size_t>(got));
    if (!connection.introduced) {
      connection.in.append(bytes);
      if (connection.in.size() > sizeof(uint32_t)) return false;  // it must wait for the answer
      continue;
    }
    std::vector<PmiSpace::Output> answers;
    const bool fine = space_->receive(*connection.rank, bytes, answers);
    for (PmiSpace::Output& answer : answers) {
      for (const auto& other : connections_) {
        if (other->rank == answer.rank && other->introduced) other->out += answer.bytes;
      }
    }
    if (!fine) return false;
  }
}

// Answers a task that has sent its rank, once the places of the ranks are known.
bool Server::introduce(Connection& connection) {
  if (!map_ || connection.in.size() < sizeof(uint32_t)) return true;
  uint32_t rank;
  std::memcpy(&rank, connection.in.data(), sizeof rank);
  if (rank >= map_->node_of_rank.size()) return false;
  const std::string size = std::to_string(map_->node_of_rank.size());
  std::vector<std::string> variables;
  if (pmix_) {
    auto made = pmix_->environment(rank);
    if (!made) return false;
    variables = std::move(*made);
    variables.push_back("SLURM_PMIX_MAPPING_SERV=" + process_mapping(map_->node_numbers()));
    connection.closing = true;
  } else {
    variables = {"PMI_RANK=" + std::to_string(rank), "PMI_SIZE=" + size, "PMI_JOBID=" + map_->job_id};
  }
  std::string answer(1, pmix_ ? '\0' : '\1');
  for (const std::string& variable : variables) answer.append(variable).push_back('\0');
  const auto length = static_cast<uint32_t>(answer.size());
  connection.out.append(reinterpret_cast<const char*>(&length), sizeof length).append(answer);
  connection.rank = rank;
  connection.introduced = true;
  return true;
}

bool Server::write_to(Connection& connection) {
  while (!connection.out.empty()) {
    const ssize_t sent =
        ::send(connection.socket.get(), connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN && connection.out.size() < kMostUnsent;
    connection.out.erase(0, static_cast<size_t>(sent));
  }
  return !connection.closing;
}

Result<std::vector<std::string>> connect_rank(const std::string& server, uint32_t rank) {
  os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  socklen_t size;
  const sockaddr_un address = abstract_address(server, size);
  uint32_t length = 0;
  std::string answer;
  const bool connected =
      socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
      ::send(socket.get(), &rank, sizeof rank, MSG_NOSIGNAL) == sizeof rank &&
      read_whole(socket.get(), &length, sizeof length) && length > 0 && length <= kLongestEnvironment;
  if (connected) answer.resize(length);
  if (!connected || !read_whole(socket.get(), answer.data(), length))
    return failure("srun does not answer as the MPI server of this step");
  std::vector<std::string> variables;
  for (size_t at = 1; at < answer.size();) {
    variables.emplace_back(answer.c_str() + at);
    at += variables.back().size() + 1;
  }
  if (answer[0] != '\0') {
    const int kept = socket.release();
    ::fcntl(kept, F_SETFD, 0);
    variables.push_back("PMI_FD=" + std::to_string(kept));
  }
  return variables;
}

}  // namespace minke::mpi
