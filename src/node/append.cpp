#include "node/append.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "node/launch.pb.h"
#include "os/fd.h"
#include "os/user_child.h"

namespace minke::node {
namespace {

constexpr std::chrono::seconds kWriting{10};

int write_line(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  return file >= 0 && ::write(file, text.data(), text.size()) >= 0 ? 0 : 1;
}

// `kept`: the only descriptor that the child keeps; -1: none. A process with this one's rights watches over
// the child with the user's rights, because the user may stop that.
pid_t append(const Identity* identity, int kept, const std::string& path, const std::string& text) {
  const pid_t parent = ::getpid();
  if (const pid_t child = ::fork(); child != 0)
    return child;  // without it the line is lost, which only explained something
  if (!os::become_in_child(std::nullopt, parent)) ::_exit(1);
  ::setsid();
  if (kept > 3) ::close_range(3, static_cast<unsigned>(kept) - 1, 0);
  ::close_range(kept < 3 ? 3 : static_cast<unsigned>(kept) + 1, ~0U, 0);
  std::optional<os::Rights> rights;
  if (identity != nullptr)
    rights =
        os::Rights{identity->uid(), identity->gid(), {identity->groups().begin(), identity->groups().end()}};
  const auto done = os::run_in_child(rights, {.time = kWriting}, [&](int) { return write_line(path, text); });
  ::_exit(done ? done->exit_code : 1);
}

}  // namespace

pid_t append_in_child(const Identity* identity, const std::string& path, const std::string& text) {
  return append(identity, -1, path, text);
}

void append_in_child_to_stderr_of(pid_t pid, const Identity& identity, const std::string& text) {
  // Only names the file. The child opens it, with its own rights.
  const os::UniqueFd file(::open(("/proc/" + std::to_string(pid) + "/fd/2").c_str(), O_PATH | O_CLOEXEC));
  if (file) append(&identity, file.get(), "/proc/self/fd/" + std::to_string(file.get()), text);
}

}  // namespace minke::node
