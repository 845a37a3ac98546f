// Control groups of the kernel, version 1 (each controller mounted by itself) and version 2 (one tree): what
// holds a set of processes that cannot leave it, limits what they take together, and counts what they took.
//
// A group is named by path components below a directory of this object's own; groups below others share the
// limits of those. In version 1 only the topmost ones are made for every controller: what is below them
// divides one controller's group (memory, where there is it), and is in the topmost one of the others. The
// directory lies
// - in version 1 below the calling process's own group, so that an outer limit goes on to hold;
// - in version 2 below its own group where systemd has handed that over (Delegate=yes), and else below the
//   root of the mount, because a group that has processes may not give controllers to groups below it.
//
// Blocking calls on a kernel file system; one thread at a time. Needs the right to write there: root, or a
// tree that was handed over. Nothing is changed before prepare().
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
  uint64_t memory_bytes = 0;  // together, swap too where the kernel counts it; 0: none
  uint64_t pids = 0;          // processes and threads at a time; 0: none
  std::string cpus;           // as the kernel writes lists, "0-3,8"; empty: all. Where the kernel has them
  std::vector<dev_t> hidden;  // character devices that may not be opened; of topmost groups only

  bool operator==(const GroupLimits&) const = default;
};

// How a process that is being started comes into a group.
struct GroupEntry {
  os::UniqueFd directory;           // version 2: for clone3(2) with CLONE_INTO_CGROUP
  std::vector<os::UniqueFd> files;  // otherwise it writes "0" to each of these
};

class ControlGroups {
 public:
  // `root`: put before every path that is read, for tests on a tree of their own. `name`: of the directory
  // that the groups are made in. Errors: no controller that confines is mounted, or it is not ours to write.
  // `with_cpus`: that hold to CPUs, and keep from devices, as well, where the kernel offers it.
  static Result<ControlGroups> find(const std::string& name, bool with_cpus = false,
                                    const std::string& root = "");

  // Takes the calling process out of any group that some ControlGroups made: a daemon that was started from
  // within a job must not end with it.
  static void leave();
  // Whether /proc/PID/cgroup, whose text this is, names such a group.
  static bool is_of_jobs(const std::string& groups);

  int version() const { return version_; }
  // Why `hidden` cannot be had; empty: it can.
  const std::string& devices_problem() const { return devices_problem_; }
  // By controller: the directory of our own.
  const std::map<std::string, std::string>& bases() const { return bases_; }
  std::vector<std::string> controllers() const;  // those that are used, sorted

  // Makes the directory of its own; to be called before anything below. Errors: the kernel does not let us.
  Status prepare();

  // Makes the group, empty, with these limits; those above it must be there. Errors: it exists; the kernel
  // refuses a limit, and then it is gone again; a limit is asked for whose controller is missing (ENOTSUP).
  Status create(const std::string& group, const GroupLimits& limits);
  Result<GroupEntry> open(const std::string& group) const;
  // A file of the group's, to read; none where the kernel does not have it.
  os::UniqueFd open_file(const std::string& controller, const std::string& group, const char* file) const;
  // Puts a process there. Its threads go along; children that it has stay where they are.
  Status enter(const std::string& group, pid_t pid) const;
  // Processes of the group itself that the kernel killed for want of memory, so far.
  uint64_t oom_kills(const std::string& group) const;
  // With those of the groups below it, or without. Empty where there is no such group.
  std::vector<pid_t> processes(const std::string& group, bool with_groups_below = true) const;
  std::vector<std::string> groups() const;  // the topmost ones

  // Sends SIGKILL to all of it but `spared`, and lets no process of it start another one (version 2, or with
  // the pids controller). It is empty a little later: call both again until remove() succeeds, because in
  // version 1 a process that was being started at that moment is not in the list yet.
  void kill(const std::string& group, pid_t spared = 0) const;
  // It, and those below it; what is not there is as good as removed. EBUSY: something of it still runs.
  Status remove(const std::string& group) const;
  // The directory of its own, once it has no groups.
  Status remove_all() const;

 private:
  std::string path(const std::string& controller, const std::string& group, const char* file) const;
  const std::string& divided()
      const;  // version 1: the base of the controller that groups below others divide
  Status give_controllers(const std::string& directory) const;
  Status hide(const std::string& group, const std::vector<dev_t>& devices) const;
  Status set_limits(const std::string& group, const GroupLimits& limits) const;
  std::vector<std::string> directories(const std::string& group) const;          // that it has itself
  std::vector<std::string> process_directories(const std::string& group) const;  // that its processes are in

  int version_ = 0;
  std::string devices_problem_ = "only root's control groups keep from devices";
  bool delegated_ = false;  // version 2: the own group has been handed over
  std::map<std::string, std::string> bases_;
};

}  // namespace minke::node
