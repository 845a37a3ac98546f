#include "node/append.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "os/become.h"
#include "os/fd.h"

namespace minke::node {
namespace {

bool become(const Identity& identity) {
  return os::become(identity.uid(), identity.gid(), {identity.groups().begin(), identity.groups().end()});
}

// `kept`: the one descriptor of ours that the child goes on to have; or -1.
void append(const Identity* identity, int kept, const std::string& path, const std::string& text) {
  const pid_t parent = ::getpid();
  if (::fork() != 0) return;  // without one the line is lost: it only explains
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::setsid();
  if (kept > 3) ::close_range(3, static_cast<unsigned>(kept) - 1, 0);
  ::close_range(kept < 3 ? 3 : static_cast<unsigned>(kept) + 1, ~0U, 0);
  if (identity != nullptr && !become(*identity)) ::_exit(1);
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  ::_exit(file >= 0 && ::write(file, text.data(), text.size()) >= 0 ? 0 : 1);
}

}  // namespace

void append_in_child(const Identity* identity, const std::string& path, const std::string& text) {
  append(identity, -1, path, text);
}

void append_in_child_to_stderr_of(pid_t pid, const Identity& identity, const std::string& text) {
  // Names the file, and opens nothing: that is for the child, with its own rights.
  const os::UniqueFd file(::open(("/proc/" + std::to_string(pid) + "/fd/2").c_str(), O_PATH | O_CLOEXEC));
  if (file) append(&identity, file.get(), "/proc/self/fd/" + std::to_string(file.get()), text);
}

}  // namespace minke::node
