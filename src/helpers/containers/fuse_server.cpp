#include "helpers/containers/fuse_server.h"
#include "os/pass_descriptors.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

namespace minke::helpers {

namespace {

constexpr int kServed = 3;  // its descriptor of /dev/fuse

// It keeps none of the step's streams, which end with the step's tasks, and ends for no signal that ends
// these: a script may still save its work.
[[noreturn]] void serve(int socket, const std::string& image, uint64_t offset) {
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGXCPU})
    std::signal(number, SIG_IGN);
  char byte;
  std::vector<os::UniqueFd> device;
  (void)os::receive_bytes(socket, &byte, 1, device, 0);
  const int nowhere = ::open("/dev/null", O_RDWR);
  if (device.empty() || nowhere < 0) ::_exit(0);
  const int kept = ::fcntl(device[0].get(), F_DUPFD, 64);
  for (int stream = 0; stream < 3; ++stream) ::dup2(nowhere, stream);
  ::dup2(kept, kServed);
  ::close_range(kServed + 1, ~0U, 0);
  ::setsid();
  (void)!::chdir("/");
  const std::string options = "ro,offset=" + std::to_string(offset),
                    at = "/dev/fd/" + std::to_string(kServed);
  ::execlp("squashfuse", "squashfuse", "-f", "-o", options.c_str(), image.c_str(), at.c_str(), nullptr);
  ::_exit(127);
}

}  // namespace

Result<os::UniqueFd> start_image_server(const std::string& image, uint64_t offset) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return failure_from_errno("socketpair", errno);
  os::UniqueFd own(ends[0]);
  const os::UniqueFd other(ends[1]);
  // Twice: the program that the caller becomes has no child that it does not know.
  const pid_t child = ::fork();
  if (child < 0) return failure_from_errno("fork", errno);
  if (child == 0) {
    if (const pid_t server = ::fork(); server != 0) ::_exit(server > 0 ? 0 : 1);
    own.reset();
    serve(other.get(), image, offset);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) return failure("squashfuse cannot be started", EAGAIN);
  return own;
}

Status mount_served_image(int server, const std::string& directory) {
  // Opened in the namespace in which it is mounted, as the kernel wants it.
  const os::UniqueFd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!device) return failure_from_errno("/dev/fuse", errno);
  const std::string options = "fd=" + std::to_string(device.get()) +
                              ",rootmode=40000,user_id=" + std::to_string(::geteuid()) +
                              ",group_id=" + std::to_string(::getegid()) + ",allow_other,default_permissions";
  if (::mount("squashfuse", directory.c_str(), "fuse.squashfuse", MS_NOSUID | MS_NODEV | MS_RDONLY,
              options.c_str()) != 0)
    return failure_from_errno("the image cannot be mounted", errno);
  const int passed[] = {device.get()};
  if (os::send_bytes(server, ".", passed, 0) != 1) return failure_from_errno("squashfuse", errno);
  return {};
}

}  // namespace minke::helpers
