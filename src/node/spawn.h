// Spawner: starts the tasks of a launch.
//
// A child shares no memory with the launcher. When a control group runs out of memory, the
// kernel kills all processes that share memory with its victim (before Linux 5.16 also when a
// process dumps core), and a child is in its job's group from the start. With CLONE_VM, as in
// vfork, a user could kill the launcher and with it everybody's jobs. A fork is cheap all the
// same: the child gets no copy of the launcher's heap (MADV_DONTFORK), only of its few other
// pages, and reads what it needs from a shared mapping (node/launch_memory.h). Therefore:
// - everything that a child needs is prepared before the fork (node/spawn_preparation.h);
// - the child makes raw system calls only (node/raw_syscall.h), allocates nothing, and
//   starts with all signals blocked;
// - the child reports in memory of its own that it executes its program, or why it gave up.
// The launcher does not wait for that, because a child may block for any time
// on a FIFO or a dead file system.
//
// A child that has not executed its program yet dies with the launcher (PR_SET_PDEATHSIG), and
// so does the program: after the launcher's death nothing more starts on its behalf.
//
// Each task is its own session and process group; both have its
// pid as their number. One thread.
#pragma once

#include <sys/types.h>

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "node/control_groups.h"
#include "node/launch_memory.h"
#include "node/spawn_child.h"
#include "os/fd.h"

namespace minke::node {
class LaunchOrder;
}  // namespace minke::node

namespace minke::node {

// A directory or file `source` that the tasks see at the path `target`.
struct Bind {
  std::string source, target;
  bool read_only = false;
};

struct Confinement {
  std::vector<GroupEntry> groups;           // by place; empty: no control groups
  std::vector<std::vector<uint32_t>> cpus;  // by place; empty: not bound
  std::vector<Bind> binds;
  int network = -1;  // a network namespace; -1: the launcher's
  int users = -1;    // a user namespace, likewise; `mounts`: the mount namespace with it
  int mounts = -1;
  bool host_names = false;  // give tasks the host names of the order's places
};

class Spawner {
 public:
  // `marker`: NAME=VALUE without the part that identifies the job run; "12.0" is appended to it.
  explicit Spawner(std::string marker);
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  // Starts all tasks. Returns their pids by position, or the negated errno for a task that could not be
  // forked. The order must be valid: it has a program, and descriptors and places are in range. The children
  // get copies of the descriptors.
  std::vector<pid_t> spawn(const LaunchOrder& order, const std::vector<os::UniqueFd>& descriptors,
                           const Confinement& confinement);

  // Whether the task has neither executed its program nor ended.
  bool is_starting(pid_t pid) const;

  // Why the task's program was never executed: its streams or its directory were not available. Nothing
  // if it was executed, or if the exec failed (standard error and exit status tell that). Call it once
  // for each task, when it can be waited for. The code is an errno, or 0 if a file system that the task
  // itself chose cannot be written.
  std::optional<Error> failure_of(pid_t pid);

 private:
  struct Child {
    ChildReport* report = nullptr;
    std::string paths[3];  // of its streams
  };
  std::vector<pid_t> spawn_all(const LaunchOrder& order, const std::vector<os::UniqueFd>& descriptors,
                               const Confinement& confinement);
  pid_t start(ChildBlock& block, const GroupEntry* group, const int* files);
  void remember(pid_t pid, const ChildBlock& block);
  void forget_executing(size_t new_ones);

  std::string marker_;
  os::UniqueFd null_;
  ReportPool reports_;
  std::unordered_map<pid_t, Child> children_;  // without some that execute their program
  std::deque<pid_t> to_look_at_;
};

}  // namespace minke::node
