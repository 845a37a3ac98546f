#include "engine/embedded/owner_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "engine/embedded/users.h"

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

void OwnerWatch::gone() {
  watch_.reset();
  if (on_gone_) std::exchange(on_gone_, nullptr)();
}

}  // namespace minke::engine
