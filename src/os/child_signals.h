// Attributes for posix_spawn: the child begins with no signal blocked or ignored, whatever this process does
// with them. Any thread.
#pragma once

#include <signal.h>
#include <spawn.h>

namespace minke::os {

class ChildSignals {
 public:
  // `more`: further flags of posix_spawnattr_setflags.
  explicit ChildSignals(int more = 0) {
    ::posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_,
                               static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | more));
  }
  ~ChildSignals() { ::posix_spawnattr_destroy(&attributes_); }
  ChildSignals(const ChildSignals&) = delete;
  ChildSignals& operator=(const ChildSignals&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

}  // namespace minke::os
