// Runs work in a child process that has a user's rights: the only way in which root touches
// files that users chose.
//
// The user may stop such a child, or give it a file that never answers. So nobody waits for it, or for its
// output, beyond a deadline: then its whole group is killed; a stopped one is killed at once. Its output is
// bounded. Blocking; for processes of one thread.
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
// Includes the groups that the name service gives the user; a uid without a name has none.
Rights rights_of(uid_t uid, gid_t gid);

// For a child that was just forked: takes these rights for good, unless this process is not root, and ends
// with `parent`. Without rights it only does the latter. If it returns false, the child must end at once.
bool become_in_child(const std::optional<Rights>& rights, pid_t parent);

struct ChildLimits {
  std::chrono::milliseconds time{10'000};
  size_t bytes = 4096;  // of its output; a child that writes more fails
  // Called twice a second; if it returns false the child is killed (ECANCELED). May be unset.
  std::function<bool()> goes_on = nullptr;
};
struct ChildOutcome {
  int exit_code = 0;  // 128 and the signal if one ended it
  std::string said;
};
// Runs `work` in a child with these rights (absent: this process's). It gets a descriptor to write its answer
// to, and returns the exit code. Errors: errno; ETIMEDOUT; EMSGSIZE; ECANCELED.
Result<ChildOutcome> run_in_child(const std::optional<Rights>& rights, const ChildLimits& limits,
                                  const std::function<int(int answer)>& work);

// For the work of run_in_child: closes all descriptors but the answer's, and has none of the standard streams
// lead anywhere, so that what reads a stranger's bytes holds nothing of root's (a connection to the daemon, a
// log). If it returns false, the child must end at once.
bool keep_only(int answer);

// Returns the exit code of a child. At the deadline, or if it is
// stopped, kills it, with the group that it leads, if it leads one.
// Fails with ETIMEDOUT then.
Result<int> wait_or_kill(pid_t child, std::chrono::steady_clock::time_point deadline);

}  // namespace minke::os
