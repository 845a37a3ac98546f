#include "helpers/relayed_connection.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace minke::helpers {

RelayedConnection::RelayedConnection(os::UniqueFd a, os::UniqueFd b)
    : a_(std::move(a)), b_(std::move(b)), out_{a_.get(), b_.get(), {}}, in_{b_.get(), a_.get(), {}} {}

short RelayedConnection::Stream::wanted_of(int fd) const {
  short events = 0;
  if (fd == from && !ended && begin == end) events |= POLLIN;
  if (fd == to && begin != end) events |= POLLOUT;
  return events;
}

// Returns false if the connection is broken.
bool RelayedConnection::Stream::move() {
  if (begin == end && !ended) {
    const ssize_t got = ::recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno != EAGAIN && errno != EINTR) return false;
    ended = got == 0;
    begin = 0;
    end = got > 0 ? static_cast<size_t>(got) : 0;
  }
  if (begin != end) {
    const ssize_t sent = ::send(to, bytes.data() + begin, end - begin, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
    begin += sent > 0 ? static_cast<size_t>(sent) : 0;
  }
  if (begin == end && ended && !closed) {
    ::shutdown(to, SHUT_WR);
    closed = true;
  }
  return true;
}

void RelayedConnection::await(std::vector<pollfd>& polled) const {
  for (const int fd : {a_.get(), b_.get()}) {
    const auto events = static_cast<short>(out_.wanted_of(fd) | in_.wanted_of(fd));
    polled.push_back({events == 0 ? -1 : fd, events, 0});
  }
}

bool RelayedConnection::move(const pollfd* polled) {
  const int events = polled[0].revents | polled[1].revents;
  if (events == 0) return true;
  // Moves both: an answer is passed on even if the request no longer can be.
  const bool sends = out_.move();
  const bool receives = in_.move();
  if (!sends || !receives || (events & (POLLERR | POLLNVAL)) != 0) return false;
  return !(out_.closed && in_.closed);
}

void await_all(const RelayedConnections& connections, std::vector<pollfd>& polled) {
  for (const RelayedConnection& one : connections) one.await(polled);
}

void move_all(RelayedConnections& connections, const std::vector<pollfd>& polled, size_t at) {
  for (auto one = connections.begin(); one != connections.end(); at += 2)
    one = one->move(&polled[at]) ? std::next(one) : connections.erase(one);
}

}  // namespace minke::helpers
