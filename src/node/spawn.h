// Starts the tasks of a launch.
//
// A child shares no memory with the launcher. The kernel kills all processes that share the memory of one
// that it kills when a control group runs out of memory (and, before Linux 5.16, of one that dumps its core),
// and a child is in its job's group from the start: with CLONE_VM, as vfork has it, a user could kill the
// launcher, and with it everybody's jobs. What makes such a fork cheap all the same: the child has no copy of
// the launcher's heap (MADV_DONTFORK), only of its few other pages, and reads what it needs from a shared
// mapping (node/launch_memory.h). So
// - everything a child needs is laid out before (node/spawn_preparation.h),
// - the child makes raw system calls only (node/raw_syscall.h), allocates nothing, and starts with all
// signals
//   blocked,
// - what it has to say is left in a report of its own: that it executes its program, or why it gave up.
// The launcher does not wait for it: a child may block for as long as it likes on a FIFO or a dead file
// system.
//
// A child that is still on its way dies with the launcher (PR_SET_PDEATHSIG), and so does the program it
// executes: after a launcher's death nothing can start any more on its behalf.
//
// Each task is a session and a process group of its own, with its pid as number. One thread.
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

// A directory or file, and in whose place the tasks see it.
struct Bind {
  std::string source, target;
  bool read_only = false;
};

struct Confinement {
  std::vector<GroupEntry> groups;           // by place; none: the tasks are not in control groups
  std::vector<std::vector<uint32_t>> cpus;  // by place; none or empty: not bound
  std::vector<Bind> binds;
  int network = -1;  // a network namespace; -1: the launcher's
  int users = -1;    // the same of users, and, with that, of mounts
  int mounts = -1;
  bool host_names = false;  // those of the order's places
};

class Spawner {
 public:
  // `marker`: NAME=VALUE, up to the part that tells the job run apart: "12.0" is put behind it.
  explicit Spawner(std::string marker);
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  // Starts all tasks; returns their pids by position, or the negated errno for a task that could not be
  // forked. The order must be valid: a program, and descriptors and places within range. The children have
  // copies of the descriptors.
  std::vector<pid_t> spawn(const LaunchOrder& order, const std::vector<os::UniqueFd>& descriptors,
                           const Confinement& confinement);

  // Whether the task has neither executed its program nor ended yet.
  bool is_starting(pid_t pid) const;

  // Why the task's program was never executed: its streams or its directory could not be had. Nothing where
  // it was, or where executing it failed (which its standard error and its exit status tell). To be called
  // once for each task, when it can be waited for. The code is an errno; 0 where a file system of the task's
  // own choice cannot be written.
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
  std::unordered_map<pid_t, Child> children_;  // but for some that execute their program
  std::deque<pid_t> to_look_at_;
};

}  // namespace minke::node
