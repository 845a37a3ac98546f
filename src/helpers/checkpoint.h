// Keeps the state of a program that cannot save it by itself, between two parts of a chain, by CRIU.
//
// Blocking; one thread. CRIU needs root's rights and a suitable kernel: `usable()` checks.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace minke::helpers {

// Returns why this user cannot use CRIU on this machine, in its own words.
Status criu_is_usable();

class Checkpoint {
 public:
  // `directory` is absolute; the first kept state creates it.
  explicit Checkpoint(std::string directory) : directory_(std::move(directory)) {}

  bool exists() const;
  // Keeps the state of `root`, a session leader, and of all below it, and ends them. If that fails they
  // continue to run, and an earlier kept state is still there.
  Status take(pid_t root);
  // Runs the kept state again as this process's child, with this process's standard output and error in place
  // of its own. Returns its pid, which is the same as before.
  Result<pid_t> restore();
  void remove();

 private:
  std::string directory_;
};

}  // namespace minke::helpers
