#include "node/namespaces.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace minke::node {
namespace {

Status bring_loopback_up() {
  const os::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return failure_from_errno("socket", errno);
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) return failure_from_errno("lo", errno);
  request.ifr_flags |= IFF_UP;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return failure_from_errno("lo", errno);
  return {};
}

bool try_naming() {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool done = ::unshare(CLONE_NEWUTS | CLONE_NEWNS) == 0 && ::sethostname("probe", 5) == 0 &&
                      ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
                      ::mount("/etc/hosts", "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
    ::_exit(done ? 0 : 1);
  }
  int status = 1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && status == 0;
}

Result<os::UniqueFd> listen_here(uint16_t port) {
  constexpr int kMostWaiting = 128;
  os::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), kMostWaiting) != 0)
    return failure_from_errno("127.0.0.1:" + std::to_string(port), errno);
  return socket;
}

constexpr char kOwn[] = "/proc/thread-self/ns/net";

}  // namespace

// The caller goes there and comes back, which costs no process.
Result<os::UniqueFd> make_offline_network() {
  const os::UniqueFd before(::open(kOwn, O_RDONLY | O_CLOEXEC));
  if (!before) return failure_from_errno(kOwn, errno);
  if (::unshare(CLONE_NEWNET) != 0) return failure_from_errno("unshare", errno);
  const Status up = bring_loopback_up();
  os::UniqueFd made(::open(kOwn, O_RDONLY | O_CLOEXEC));
  const int error = errno;
  MINKE_CHECK(::setns(before.get(), CLONE_NEWNET) == 0);
  if (!up) return failure(up.error());
  if (!made) return failure_from_errno(kOwn, error);
  return made;
}

Result<os::UniqueFd> listen_in(int network, uint16_t port) {
  const os::UniqueFd before(::open(kOwn, O_RDONLY | O_CLOEXEC));
  if (!before) return failure_from_errno(kOwn, errno);
  if (::setns(network, CLONE_NEWNET) != 0) return failure_from_errno("setns", errno);
  auto socket = listen_here(port);
  MINKE_CHECK(::setns(before.get(), CLONE_NEWNET) == 0);
  return socket;
}

bool can_name_hosts() {
  static const bool can = try_naming();
  return can;
}

}  // namespace minke::node
