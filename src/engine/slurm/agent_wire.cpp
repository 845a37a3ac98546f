#include "engine/slurm/agent_wire.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "os/random_key.h"

namespace minke::engine::slurm {

Status AgentConnection::wait(short events) const {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    if (left <= 0) return failure("no answer in time", ETIMEDOUT);
    pollfd one{.fd = fd_, .events = events, .revents = 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::min<int64_t>(left, 60'000)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return failure_from_errno("poll", errno);
  }
}

Status AgentConnection::send(std::string line) const {
  line += '\n';
  for (size_t sent = 0; sent < line.size();) {
    if (const Status ready = wait(POLLOUT); !ready) return ready;
    const ssize_t done = ::send(fd_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (done < 0) return failure_from_errno("send", errno);
    sent += static_cast<size_t>(done);
  }
  return {};
}

Result<std::string> AgentConnection::receive(size_t most) {
  char buffer[size_t{16} << 10];
  for (;;) {
    if (const size_t end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    if (read_.size() > most) return failure("too long a line", EFBIG);
    if (const Status ready = wait(POLLIN); !ready) return failure(ready.error());
    const ssize_t got = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return failure_from_errno("recv", errno);
    if (got == 0) return failure("the connection was closed", ECONNRESET);
    read_.append(buffer, static_cast<size_t>(got));
  }
}

std::string agent_nonce() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string nonce;
  for (const char byte : os::random_key()) {
    nonce += kDigits[static_cast<unsigned char>(byte) >> 4];
    nonce += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return nonce;
}

}  // namespace minke::engine::slurm
