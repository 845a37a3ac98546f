#include "engine/embedded/owner_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "engine/embedded/users.h"
#include "os/files.h"

namespace minke::engine {

OwnerWatch::OwnerWatch(os::EventLoop& loop, const Owner& owner, std::function<void()> on_gone)
    : on_gone_(std::move(on_gone)) {
  // The descriptor first: a process that still has the owner's start time afterwards is the one it stands
  // for.
  process_.reset(static_cast<int>(syscall(SYS_pidfd_open, owner.pid, 0)));
  if (process_ && owner_is_alive(owner)) {
    watch_ = loop.on_readable(process_.get(), [this] {
      pollfd process{process_.get(), POLLIN, 0};  // what is at stake is a job: asked again
      if (::poll(&process, 1, 0) == 1) gone();
    });
    return;
  }
  loop.post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) gone();
  });
}

void say_to_owner(const Owner& owner, const std::string& message) {
  if (!owner_is_alive(owner)) return;
  const std::string process = "/proc/" + std::to_string(owner.pid);
  const auto arguments = os::read_file(process + "/cmdline", 1 << 20);
  std::string name = arguments ? arguments->substr(0, arguments->find('\0')) : std::string();
  name.erase(0, name.rfind('/') + 1);
  const os::UniqueFd file(
      ::open((process + "/fd/2").c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) return;
  const std::string line = (name.empty() ? "srun" : name) + ": " + message + "\n";
  [[maybe_unused]] const ssize_t written = ::write(file.get(), line.data(), line.size());
}

void OwnerWatch::gone() {
  watch_.reset();
  if (on_gone_) std::exchange(on_gone_, nullptr)();
}

}  // namespace minke::engine
