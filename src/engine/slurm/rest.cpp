#include "engine/slurm/rest.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "os/fd.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{120};
constexpr uint64_t kMostBytes = uint64_t{2} << 30;
constexpr size_t kLongestHead = size_t{64} << 10;

struct Interface {
  std::string_view release, name;
};
constexpr std::array<Interface, 6> kInterfaces = {{{"23.11", "v0.0.40"},
                                                   {"24.05", "v0.0.41"},
                                                   {"24.11", "v0.0.42"},
                                                   {"25.05", "v0.0.43"},
                                                   {"25.11", "v0.0.44"},
                                                   {"26.05", "v0.0.45"}}};

Result<os::UniqueFd> connect_to_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return failure(path + " is too long for a socket", EINVAL);
  std::memcpy(address.sun_path, path.data(), path.size());
  os::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return failure_from_errno("socket", errno);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return failure("slurmrestd does not answer at " + path + ": " + std::strerror(errno), ECONNREFUSED);
  return fd;
}

Result<os::UniqueFd> connect_to_host(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos)
    return failure("[cluster] rest is " + address + "; it must be a path, or HOST:PORT", EINVAL);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int problem =
      ::getaddrinfo(address.substr(0, colon).c_str(), address.substr(colon + 1).c_str(), &hints, &list);
  if (problem != 0)
    return failure("slurmrestd is not found at " + address + ": " + ::gai_strerror(problem), ECONNREFUSED);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> kept(list, ::freeaddrinfo);
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    os::UniqueFd fd(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol));
    if (fd && ::connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0) return fd;
  }
  return failure("slurmrestd does not answer at " + address, ECONNREFUSED);
}

// One request and its answer.
class Exchange {
 public:
  explicit Exchange(os::UniqueFd fd) : fd_(std::move(fd)), deadline_(Clock::now() + kPatience) {}

  Status send(std::string_view text) {
    while (!text.empty()) {
      if (const Status ready = wait_for(POLLOUT); !ready) return ready;
      const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (sent < 0) return failure_from_errno("slurmrestd", errno);
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return {};
  }

  // Reads the lines before the body; returns the status, "200".
  Result<uint64_t> read_head() {
    std::string head;
    size_t end = std::string::npos;
    while (end == std::string::npos) {
      if (head.size() > kLongestHead) return failure("slurmrestd says too much", EPROTO);
      char buffer[4096];
      const auto got = receive(buffer, sizeof buffer);
      if (!got) return failure(got.error());
      if (*got == 0) return failure("slurmrestd has closed the connection", ECONNREFUSED);
      head.append(buffer, *got);
      end = head.find("\r\n\r\n");
    }
    begun_ = head.substr(end + 4);
    head.resize(end);
    const auto words = text::split(std::string_view(head).substr(0, head.find("\r\n")), ' ');
    const auto status = words.size() < 2 ? std::nullopt : text::parse_unsigned(words[1], 999);
    if (!head.starts_with("HTTP/1.") || !status) return failure("what answers is no slurmrestd", EPROTO);
    return read_length(head) ? Result<uint64_t>(*status)
                             : failure("slurmrestd does not say how long its answer is", EPROTO);
  }

  // Of the body.
  Result<size_t> next(char* buffer, size_t size) {
    size = static_cast<size_t>(std::min<uint64_t>(size, left_));
    if (size == 0) return size_t{0};
    size_t got = std::min(size, begun_.size());
    if (got > 0) {
      std::memcpy(buffer, begun_.data(), got);
      begun_.erase(0, got);
    } else {
      const auto received = receive(buffer, size);
      if (!received) return received;
      if (*received == 0) return failure("slurmrestd's answer is cut off", EPROTO);
      got = *received;
    }
    left_ -= got;
    return got;
  }

 private:
  bool read_length(const std::string& head) {
    for (const std::string_view line : text::split(head, '\n')) {
      const size_t colon = line.find(':');
      if (colon == std::string_view::npos) continue;
      std::string name(line.substr(0, colon));
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      if (name != "content-length") continue;
      const auto length = text::parse_unsigned(text::trim(line.substr(colon + 1)), kMostBytes);
      left_ = length.value_or(0);
      return length.has_value();
    }
    return false;
  }

  Status wait_for(short what) {
    pollfd wait{fd_.get(), what, 0};
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      const int ready = ::poll(&wait, 1, static_cast<int>(std::max<int64_t>(0, left)));
      if (ready < 0 && errno == EINTR) continue;
      if (ready > 0) return {};
      return failure("slurmrestd took longer than " + std::to_string(kPatience.count()) + " s", ETIMEDOUT);
    }
  }

  Result<size_t> receive(char* buffer, size_t size) {
    for (;;) {
      if (const Status ready = wait_for(POLLIN); !ready) return failure(ready.error());
      const ssize_t got = ::recv(fd_.get(), buffer, size, MSG_DONTWAIT);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got < 0) return failure_from_errno("slurmrestd", errno);
      return static_cast<size_t>(got);
    }
  }

  os::UniqueFd fd_;
  Clock::time_point deadline_;
  std::string begun_;  // of the body: came with the head
  uint64_t left_ = 0;  // of the body
};

bool may_stand_in_a_header(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

}  // namespace

Status Rest::get(const std::string& path, const std::function<Status(const NextBytes& next)>& read) const {
  if (!may_stand_in_a_header(token_)) return failure("what SLURM_JWT holds is no token", EACCES);
  auto fd = address_.starts_with('/') ? connect_to_path(address_) : connect_to_host(address_);
  if (!fd) return failure(fd.error());
  Exchange exchange(std::move(*fd));
  std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n";
  if (!token_.empty()) request += "X-SLURM-USER-TOKEN: " + token_ + "\r\n";
  if (const Status sent = exchange.send(request + "Connection: close\r\n\r\n"); !sent) return sent;
  const auto status = exchange.read_head();
  if (!status) return failure(status.error());
  if (*status == 401 || *status == 403 || *status == 511)
    return failure(token_.empty()
                       ? "slurmrestd asks for a token: export SLURM_JWT, as scontrol token tells it"
                       : "slurmrestd does not believe the token in SLURM_JWT: it may have run out; scontrol "
                         "token gives another one",
                   EACCES);
  if (*status != 200)
    return failure("slurmrestd answers " + path + " with status " + std::to_string(*status), EPROTO);
  return read([&](char* buffer, size_t size) { return exchange.next(buffer, size); });
}

std::string rest_interface(std::string_view version) {
  std::string_view name;
  for (const Interface& one : kInterfaces) {
    if (version.substr(0, one.release.size()) >= one.release) name = one.name;
  }
  return std::string(name);
}

}  // namespace minke::engine::slurm
