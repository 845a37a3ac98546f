#include "engine/embedded/watching/owner_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "engine/embedded/accounts/users.h"
#include "os/descriptors.h"

namespace minke::engine {

OwnerWatch::OwnerWatch(os::EventLoop& loop, const Owner& owner, std::function<void()> on_gone)
    : loop_(loop), owner_(owner), on_gone_(std::move(on_gone)) {
  begin();
}

void OwnerWatch::begin() {
  // Opens the descriptor first: if a process has the owner's start time
  // afterwards, the descriptor refers to it.
  process_.reset(static_cast<int>(syscall(SYS_pidfd_open, owner_.pid, 0)));
  const bool no_descriptor = !process_ && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
  if ((!process_ && !no_descriptor) || owner_has_ended(owner_)) {
    loop_.post([this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) gone();
    });
    return;
  }
  // Descriptors for owners leave half of all descriptors to connections.
  const bool spare = process_ && os::is_spare_descriptor(2 * process_.get());
  if (spare && owner_is_alive(owner_)) {
    watch_ = loop_.on_readable(process_.get(), [this] {
      pollfd process{process_.get(), POLLIN, 0};  // a job is at stake, so it is checked again
      if (::poll(&process, 1, 0) == 1) gone();
    });
    return;
  }
  // This process is short of descriptors, which says nothing about the owner: it is polled instead.
  static constexpr std::chrono::milliseconds kBeforeNextLook{500};
  process_.reset();
  if (!next_look_) next_look_ = loop_.make_timer([this] { begin(); });
  next_look_->set_after(kBeforeNextLook);
}

void OwnerWatch::gone() {
  watch_.reset();
  process_.reset();
  if (on_gone_) std::exchange(on_gone_, nullptr)();
}

}  // namespace minke::engine
