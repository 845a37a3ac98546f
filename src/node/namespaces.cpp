#include "node/namespaces.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <utility>

#include "os/files.h"
#include "os/pipe.h"

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

Status write_to(const std::string& path, const std::string& text) {
  const os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) < 0) return failure_from_errno(path, errno);
  return {};
}

// Maps each id that exists here to itself, in the kernel's format.
std::string same_numbers(const char* map) {
  std::istringstream lines(os::read_file(map, 65536).value_or(""));
  std::string text;
  for (std::string first, outside, count; lines >> first >> outside >> count;)
    text.append(first).append(" ").append(first).append(" ").append(count).append("\n");
  return text;
}

// Forks a child that runs `enter` and then waits until `use` has been called with its pid.
Status with_child_in(const std::function<bool()>& enter, const std::function<Status(pid_t)>& use) {
  auto pipe = os::make_pipe();
  if (!pipe) return failure(pipe.error());
  auto& [reader, writer] = *pipe;
  const pid_t child = ::fork();
  if (child < 0) return failure_from_errno("fork", errno);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int error = enter() ? 0 : errno == 0 ? EINVAL : errno;
    (void)!::write(writer.get(), &error, sizeof error);
    for (;;) ::pause();
  }
  writer.reset();
  int error = EINVAL;
  ssize_t got;
  do got = ::read(reader.get(), &error, sizeof error);
  while (got < 0 && errno == EINTR);
  Status used = got == sizeof error && error == 0 ? use(child)
                                                  : Status(failure_from_errno("a namespace of users", error));
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return used;
}

Result<os::UniqueFd> namespace_of(pid_t process, const char* kind) {
  const std::string path = "/proc/" + std::to_string(process) + "/ns/" + kind;
  os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failure_from_errno(path, errno);
  return file;
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

// The caller enters the new namespace and returns, which needs no process.
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

Result<os::UniqueFd> make_user_namespace() {
  os::UniqueFd made;
  const Status done = with_child_in(
      [] { return ::unshare(CLONE_NEWUSER) == 0; },
      [&](pid_t child) -> Status {
        const std::string of_child = "/proc/" + std::to_string(child);
        if (auto written = write_to(of_child + "/uid_map", same_numbers("/proc/self/uid_map")); !written)
          return written;
        if (auto written = write_to(of_child + "/gid_map", same_numbers("/proc/self/gid_map")); !written)
          return written;
        auto opened = namespace_of(child, "user");
        if (!opened) return failure(opened.error());
        made = std::move(*opened);
        return {};
      });
  if (!done) return failure(done.error());
  return made;
}

Result<HostsNamespace> make_hosts_namespace(const std::string& hosts) {
  const std::string uid = std::to_string(::geteuid()), gid = std::to_string(::getegid());
  const auto enter = [&] {
    return ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_to("/proc/self/setgroups", "deny") &&
           write_to("/proc/self/uid_map", uid + " " + uid + " 1\n") &&
           write_to("/proc/self/gid_map", gid + " " + gid + " 1\n") &&
           ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
           ::mount(hosts.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
  };
  HostsNamespace made;
  const Status done = with_child_in(enter, [&](pid_t child) -> Status {
    auto users = namespace_of(child, "user");
    if (!users) return failure(users.error());
    auto mounts = namespace_of(child, "mnt");
    if (!mounts) return failure(mounts.error());
    made = {std::move(*users), std::move(*mounts)};
    return {};
  });
  if (!done) return failure(done.error());
  return made;
}

bool can_name_hosts() {
  static const bool can = try_naming();
  return can;
}

}  // namespace minke::node
