#include "sweep/serve.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <list>
#include <string>
#include <vector>

#include "os/fd.h"
#include "sweep/ask_tell.h"

namespace minke::sweep {

namespace {

constexpr size_t kMaxConnections = 256;
constexpr size_t kMaxLine = size_t{1} << 16;
constexpr int kPause = 100;  // ms

struct Connection {
  os::UniqueFd socket;
  std::string unread;
  AskTell::Asker number = 0;
};

Result<os::UniqueFd> listening(const std::string& directory) {
  // Names of sockets are short: the directory is named by its descriptor.
  const os::UniqueFd place(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!place || !socket) return failure_from_errno(directory, errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/socket", place.get());
  ::unlinkat(place.get(), "socket", 0);
  const mode_t mask = ::umask(0077);
  const int bound = ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  const int problem = errno;
  ::umask(mask);
  if (bound != 0) return failure_from_errno(directory + "/socket", problem);
  if (::listen(socket.get(), 64) != 0) return failure_from_errno(directory + "/socket", errno);
  return socket;
}

bool is_ours(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::getuid();
}

// Whether the connection goes on.
Result<bool> serve_one(Connection& connection, AskTell& search) {
  char buffer[4096];
  const ssize_t got = ::recv(connection.socket.get(), buffer, sizeof buffer, 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got <= 0) return false;
  connection.unread.append(buffer, static_cast<size_t>(got));
  size_t at = 0;
  for (size_t end; (end = connection.unread.find('\n', at)) != std::string::npos; at = end + 1) {
    const auto answer = search.answer(connection.unread.substr(at, end - at), connection.number);
    if (!answer) return failure(answer.error());
    // An answer is short; who does not read it has lost the connection.
    if (::send(connection.socket.get(), answer->data(), answer->size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(answer->size()))
      return false;
  }
  connection.unread.erase(0, at);
  return connection.unread.size() <= kMaxLine;
}

}  // namespace

Status serve(Record& record, const std::function<void()>& ready, const std::function<bool()>& interrupted) {
  const auto door = listening(record.directory());
  if (!door) return failure(door.error());
  AskTell search(record);
  AskTell::Asker connected = 0;
  std::list<Connection> connections;
  ready();
  while (!interrupted()) {
    std::vector<pollfd> watched = {{door->get(), POLLIN, 0}};
    for (const Connection& one : connections) watched.push_back({one.socket.get(), POLLIN, 0});
    if (::poll(watched.data(), watched.size(), kPause) <= 0) continue;
    size_t place = 1;
    for (auto one = connections.begin(); one != connections.end(); ++place) {
      Result<bool> goes_on = true;
      if (watched[place].revents != 0) goes_on = serve_one(*one, search);
      if (!goes_on) return failure(goes_on.error());
      if (!*goes_on) search.lost(one->number);
      one = *goes_on ? std::next(one) : connections.erase(one);
    }
    if ((watched[0].revents & POLLIN) == 0) continue;
    os::UniqueFd socket(::accept4(door->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket || !is_ours(socket.get()) || connections.size() >= kMaxConnections) continue;
    connections.push_back({std::move(socket), "", ++connected});
  }
  ::unlink((record.directory() + "/socket").c_str());
  return {};
}

}  // namespace minke::sweep
