#include "rpc/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "os/process.h"
#include "rpc/frame.h"

namespace minke::rpc {

namespace {

constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD, which older headers lack

// A path too long for an address is reached through its directory's descriptor.
struct Address {
  sockaddr_un value{};
  os::UniqueFd directory;
};

Result<Address> address_of(const std::string& path) {
  Address address;
  address.value.sun_family = AF_UNIX;
  std::string short_path = path;
  if (path.size() >= sizeof(address.value.sun_path)) {
    const size_t slash = path.rfind('/');
    MINKE_CHECK(slash != std::string::npos);
    address.directory.reset(::open(path.substr(0, slash + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!address.directory) return failure_from_errno(path, errno);
    short_path = "/proc/self/fd/" + std::to_string(address.directory.get()) + path.substr(slash);
    if (short_path.size() >= sizeof(address.value.sun_path)) return failure_from_errno(path, ENAMETOOLONG);
  }
  std::memcpy(address.value.sun_path, short_path.data(), short_path.size());
  return address;
}

}  // namespace

Peer peer_of(int socket) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  MINKE_CHECK(getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0);
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const auto ticks = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  const uint64_t since_boot =
      static_cast<uint64_t>(now.tv_sec) * ticks + static_cast<uint64_t>(now.tv_nsec) * ticks / 1'000'000'000;
  return Peer{credentials.pid, credentials.uid, credentials.gid, socket, since_boot};
}

os::UniqueFd peer_process(const Peer& peer) {
  int number = -1;
  socklen_t size = sizeof number;
  const bool told = ::getsockopt(peer.socket, SOL_SOCKET, kPeerPidfd, &number, &size) == 0;
  os::UniqueFd process(told ? number : -1);
  if (!told && errno == ENOPROTOOPT) {
    process.reset(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
    const auto began = os::process_of(peer.pid);
    if (!began || began->uid != peer.uid || began->start_ticks > peer.connected_ticks) return {};
  }
  pollfd end{process.get(), POLLIN, 0};
  if (!process || ::poll(&end, 1, 0) != 0) return {};
  return process;
}

Result<os::UniqueFd> connect_to(const std::string& path) {
  auto address = address_of(path);
  if (!address) return failure(address.error());
  os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return failure_from_errno("socket", errno);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address->value), sizeof(address->value)) !=
      0) {
    return failure_from_errno(path, errno);
  }
  return socket;
}

Result<os::UniqueFd> listen_at(const std::string& path, mode_t mode) {
  auto address = address_of(path);
  if (!address) return failure(address.error());
  os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return failure_from_errno("socket", errno);
  ::unlink(path.c_str());
  // The file has the right mode from the start: there is no moment at which others could connect.
  const mode_t previous = ::umask(0777 & ~mode);
  const int bound =
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address->value), sizeof(address->value));
  const int error_number = errno;
  ::umask(previous);
  if (bound != 0) return failure_from_errno(path, error_number);
  if (::listen(socket.get(), 4096) != 0) return failure_from_errno(path, errno);
  return socket;
}

}  // namespace minke::rpc
