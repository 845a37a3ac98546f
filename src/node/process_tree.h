// Finds processes in /proc: what a job has left running beyond the processes that the launcher started
// itself.
//
// The launcher is a child subreaper: a process whose parent is gone becomes the launcher's child. So when the
// root processes of a job are gone, whatever it left is among the launcher's children or descends from one,
// however it daemonised. The kernel lists a process's children (/proc/PID/task/TID/children) cheaply; where
// it is built without that list, all processes are looked at, or only the pids given out lately.
//
// The answers are snapshots: ask again after killing. Reads only; one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "os/fd.h"

namespace minke::node {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  char state = '?';          // R, S, D, Z, …
  uint64_t start_ticks = 0;  // clock ticks since boot
};

std::optional<Process> read_process(pid_t pid);  // nothing: there is none
std::vector<Process> read_all_processes();  // zombies too; a process that starts meanwhile may be missing

// Those of `processes` that descend from one of `roots`; the roots themselves are not among them.
std::vector<Process> descendants(const std::vector<Process>& processes, const std::vector<pid_t>& roots);

// The value of a variable of the environment that the process was executed with. Nothing: not set, or not
// readable.
// `undecided`, where given, is set when it is being executed just now and so has none yet: ask again.
std::optional<std::string> initial_variable(pid_t pid, const std::string& name, bool* undecided = nullptr);

bool runs_this_program(pid_t pid);  // the same executable file as this process

uint64_t boot_ticks_now();  // clock ticks since boot
std::string boot_id();      // empty where the kernel has none

class ChildList {
 public:
  // `use_kernel_list` false: do without it, for tests.
  explicit ChildList(bool use_kernel_list = true);

  // This process's children. With `since` not 0, where the kernel has no list: only those with a pid given
  // out after that one, which must be less than a second old.
  std::vector<pid_t> read(pid_t since = 0);
  bool kernel_has_list() const { return static_cast<bool>(kernel_list_); }

 private:
  os::UniqueFd kernel_list_;
  os::UniqueFd load_average_;  // its last word is the last pid given out
};

}  // namespace minke::node
