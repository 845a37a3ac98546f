// Finds processes in /proc that a job has left behind, beyond the processes
// that the launcher started itself.
//
// The launcher is a child subreaper: a process whose parent is gone becomes the launcher's child. So when a
// job's root processes are gone, everything that it left is a child of the launcher or descends from one,
// however it daemonised. The kernel lists a process's children (/proc/PID/task/TID/children) cheaply. A
// kernel built without that list needs a scan of all processes, or of recently assigned pids only.
//
// The results are snapshots: ask again after killing. Reads only; one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

std::optional<Process> read_process(pid_t pid);  // nothing if there is none
std::vector<pid_t> list_pids();                  // of all processes, in no order
std::vector<Process> read_all_processes();  // includes zombies; processes that start meanwhile may be missing

// The processes in `processes` that descend from one of `roots`, without the roots themselves.
std::vector<Process> descendants(const std::vector<Process>& processes, const std::vector<pid_t>& roots);

// The environment with which the process was executed; empty if it has none, or is not readable.
class InitialEnvironment {
 public:
  explicit InitialEnvironment(pid_t pid);
  std::optional<std::string_view> get(std::string_view name) const;  // a variable's value

 private:
  std::string text_;
};

// The value that an environment variable had when the process was executed. Nothing: not
// set, or not readable. Sets `undecided`, if given, if the process is in the middle of an
// exec and has no value yet: ask again.
std::optional<std::string> initial_variable(pid_t pid, const std::string& name, bool* undecided = nullptr);

bool runs_this_program(pid_t pid);  // the same executable file as this process

uint64_t boot_ticks_now();  // clock ticks since boot
std::string boot_id();      // empty where the kernel has none

class ChildList {
 public:
  // `use_kernel_list` false: do not use the kernel's list, for tests.
  explicit ChildList(bool use_kernel_list = true);

  // This process's children. If the kernel has no list and `since` is not 0: only children with pids assigned
  // after that pid, which must be less than a second old.
  std::vector<pid_t> read(pid_t since = 0);
  bool kernel_has_list() const { return static_cast<bool>(kernel_list_); }

 private:
  os::UniqueFd kernel_list_;
  os::UniqueFd load_average_;  // its last field is the last assigned pid
};

}  // namespace minke::node
