// The state of a program that cannot save it by itself, kept by CRIU between two parts of a chain.
//
// Blocking; one thread. CRIU wants root's rights, and a kernel that it knows: `usable()` asks it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace minke::helpers {

// Why CRIU cannot be used by this user on this machine, in its own words.
Status criu_is_usable();

class Checkpoint {
 public:
  // `directory`: absolute; made with the first state that is kept.
  explicit Checkpoint(std::string directory) : directory_(std::move(directory)) {}

  bool exists() const;
  // Keeps the state of `root`, a session leader, and of all below it, and ends them. Where that fails they
  // run on, and a state that was kept before is still there.
  Status take(pid_t root);
  // What was kept runs again, as this process's child, with this process's standard output and error in the
  // place of those that it had. Returns its pid, which is the one it had.
  Result<pid_t> restore();
  void remove();

 private:
  std::string directory_;
};

}  // namespace minke::helpers
