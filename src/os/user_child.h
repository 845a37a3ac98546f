// Work that a process does in a child of its own which has a user's rights: the one way in which root touches
// what users chose.
//
// The user may stop such a child, or give it a file that never answers. So nobody waits for it, or for what
// it says, beyond a deadline: then its whole group is killed; and so is one that is stopped, at once. What it
// says is bounded. Blocking; for processes of one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::os {

struct Rights {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // supplementary
};
// With the groups that the name service gives the user; a uid without a name has none.
Rights rights_of(uid_t uid, gid_t gid);

// For a child that was just forked: takes these rights for good, unless this process is not root, and ends
// with `parent`. Without rights it only does the latter. False: the child must end at once.
bool become_in_child(const std::optional<Rights>& rights, pid_t parent);

struct ChildLimits {
  std::chrono::milliseconds time{10'000};
  size_t bytes = 4096;  // of what it says; one that says more fails
  // Asked twice a second; false: it is killed (ECANCELED). None: nobody is asked.
  std::function<bool()> goes_on = nullptr;
};
struct ChildOutcome {
  int exit_code = 0;  // 128 and the signal where one ended it
  std::string said;
};
// Runs `work` in a child with these rights (absent: this process's). It gets a descriptor to write its answer
// to, and returns the exit code. Errors: errno; ETIMEDOUT; EMSGSIZE; ECANCELED.
Result<ChildOutcome> run_in_child(const std::optional<Rights>& rights, const ChildLimits& limits,
                                  const std::function<int(int answer)>& work);

// The exit code of a child. At the deadline, or where it is stopped, it is killed, with the group that it
// leads, if it leads one.
// Error: ETIMEDOUT.
Result<int> wait_or_kill(pid_t child, std::chrono::steady_clock::time_point deadline);

}  // namespace minke::os
