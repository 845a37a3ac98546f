// Starts the tasks of a launch.
//
// A child shares the launcher's memory until it executes its program (CLONE_VM, as vfork does), because
// copying the page tables costs a third of a millisecond a job. Unlike with vfork the launcher does not wait
// for it: a child may block for as long as it likes on a FIFO or a dead file system. So that both may run at
// once,
// - everything a child needs is prepared before and stays until the child is done with it,
// - the child runs on a stack of its own, makes raw system calls only (node/raw_syscall.h), allocates
// nothing, and
//   starts with all signals blocked,
// - what it has to say is left in its own block: how far it came and the error.
//
// A child that is still on its way dies with the launcher (PR_SET_PDEATHSIG), and so does the program it
// executes: after a launcher's death nothing can start any more on its behalf.
//
// Each task is a session and a process group of its own, with its pid as number. One thread.
#pragma once

#include <sys/types.h>

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "node/control_groups.h"
#include "node/launch.pb.h"
#include "os/fd.h"

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
  int network = -1;         // a network namespace; -1: the launcher's
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
  // forked. The order must be valid: a program, and descriptors and places within range.
  std::vector<pid_t> spawn(LaunchOrder order, std::vector<os::UniqueFd> descriptors, Confinement confinement);

  // Whether the task has neither executed its program nor ended yet.
  bool is_starting(pid_t pid) const;

  // Why the task's program was never executed: its streams or its directory could not be had. Nothing where
  // it was, or where executing it failed (which its standard error and its exit status tell). To be called
  // once for each task, when it can be waited for. The code is an errno; 0 where a file system of the task's
  // own choice cannot be written.
  std::optional<Error> failure_of(pid_t pid);

 private:
  struct Start;
  void sweep();

  std::string marker_;
  os::UniqueFd null_;
  std::list<std::unique_ptr<Start>> starting_;   // some child of it may still share our memory
  std::vector<std::unique_ptr<char[]>> stacks_;  // free ones
  std::unordered_map<pid_t, Error> failures_;
};

}  // namespace minke::node
