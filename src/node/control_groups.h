// Control groups of the kernel, version 1 (each controller mounted separately) and version 2 (one
// tree). A group contains processes that cannot leave it, limits their total use, and counts it.
//
// A group is named by path components below this object's own directory. Nested groups share
// the limits of the groups above them. In version 1, topmost groups exist in every
// controller; a nested group divides its topmost group in one controller only (memory if
// mounted). The own directory lies
// - in version 1 below the calling process's own group, so that an outer limit still applies;
// - in version 2 below its own group if systemd has delegated that (Delegate=yes), else below the
//   root of the mount, because a group with processes may not give controllers to groups below it.
//
// Blocking calls on a kernel file system; one thread at a time. It needs write access there: root,
// or a delegated tree. Nothing is changed before prepare().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace minke::node {

struct GroupLimits {
  uint64_t memory_bytes = 0;  // total, with swap if the kernel counts it; 0: none
  uint64_t pids = 0;          // processes and threads at a time; 0: none
  std::string cpus;           // a kernel list, "0-3,8"; empty: all. Needs the cpuset controller
  std::vector<dev_t> hidden;  // character devices that must not be opened; topmost groups only

  bool operator==(const GroupLimits&) const = default;
};

// How a new process enters a group.
struct GroupEntry {
  os::UniqueFd directory;           // version 2: for clone3(2) with CLONE_INTO_CGROUP
  std::vector<os::UniqueFd> files;  // otherwise the process writes "0" to each of these
};

class ControlGroups {
 public:
  // Finds the mounts. `name` is the directory for the groups. `with_cpus`: also confine to CPUs and from
  // devices if the kernel can. `root`: a prefix of every path that is read, for tests. Errors: no confining
  // controller is mounted, or we may not write there.
  static Result<ControlGroups> find(const std::string& name, bool with_cpus = false,
                                    const std::string& root = "");

  // Moves the calling process out of any group that a ControlGroups made. A daemon that was started from
  // within a job must not end with the job.
  static void leave();
  // Whether the text of a /proc/PID/cgroup names such a group.
  static bool is_of_jobs(const std::string& groups);

  int version() const { return version_; }
  // Why `hidden` is not available; empty: it is.
  const std::string& devices_problem() const { return devices_problem_; }
  // Maps each controller to our own directory in it.
  const std::map<std::string, std::string>& bases() const { return bases_; }
  std::vector<std::string> controllers() const;  // those that are used, sorted

  // Makes our own directory. Call it before the functions below. Errors: the kernel refuses.
  Status prepare();

  // Makes the group, empty, with these limits. The groups above it must exist. Errors: it exists; a
  // controller is missing (ENOTSUP); the kernel refuses a limit, and then the group is removed again.
  Status create(const std::string& group, const GroupLimits& limits);
  Result<GroupEntry> open(const std::string& group) const;
  // Opens a file of the group for reading; invalid if the kernel does not have it.
  os::UniqueFd open_file(const std::string& controller, const std::string& group, const char* file) const;
  // Moves a process and its threads into the group. Its existing children stay where they are.
  Status enter(const std::string& group, pid_t pid) const;
  // The number of the group's own processes that the kernel has OOM-killed so far.
  uint64_t oom_kills(const std::string& group) const;
  // The processes of the group, with or without those of nested groups. Empty if there is no such group.
  std::vector<pid_t> processes(const std::string& group, bool with_groups_below = true) const;
  std::vector<std::string> groups() const;  // the topmost ones

  // Sends SIGKILL to all processes of the group but `spared`, and prevents new forks (version 2, or with the
  // pids controller). Call kill() and remove() until remove() succeeds: in version 1 a process that was being
  // forked at that moment is missing from the list.
  void kill(const std::string& group, pid_t spared = 0) const;
  // Removes the group and those below it; a missing one is fine. EBUSY: a process in it still runs.
  Status remove(const std::string& group) const;
  // Removes our own directory once it has no groups.
  Status remove_all() const;

 private:
  std::string path(const std::string& controller, const std::string& group, const char* file) const;
  const std::string& divided()
      const;  // version 1: the base of the controller that groups below others divide
  Status give_controllers(const std::string& directory) const;
  Status hide(const std::string& group, const std::vector<dev_t>& devices) const;
  Status set_limits(const std::string& group, const GroupLimits& limits) const;
  std::vector<std::string> directories(const std::string& group) const;          // of the group itself
  std::vector<std::string> process_directories(const std::string& group) const;  // where its processes are

  int version_ = 0;
  std::string devices_problem_ = "only a shared cluster keeps its jobs from devices";
  bool delegated_ = false;  // version 2: our own group is delegated
  std::map<std::string, std::string> bases_;
};

}  // namespace minke::node
