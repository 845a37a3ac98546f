// Control groups that are used by one job after the other, all with the same limits: to make and to remove
// one costs as much as to start a short script. Version 1 with the pids controller, whose count of what is in
// a group is exact. In version 2 tasks are born in their group, which costs little, but each launch needs its
// own.
//
// A group is with one job at a time. It comes back only when nothing is in it, nor has ever been sent SIGKILL
// as a group (which closes it), nor has groups below it, nor does more than a little memory still count as
// its own (files of the job before in the page cache, or in a tmpfs): that would be the next job's. A group
// of which that is not so is removed instead. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "node/control_groups.h"

namespace minke::node {

class SpareGroups {
 public:
  struct Group {
    std::string name;
    GroupLimits limits;
    GroupEntry entry;
    os::UniqueFd oom_control;
    os::UniqueFd memory_usage;
    os::UniqueFd process_count;
    uint64_t oom_kills = 0;  // of jobs that had it before
  };

  // `groups` must outlive this.
  explicit SpareGroups(ControlGroups& groups);

  static bool is_spare(const std::string& name);

  // One for a job with these limits; nothing where there are none to be had, or the kernel refuses a limit.
  // `taken`: names that must not be used.
  std::optional<Group> take(const GroupLimits& limits, const std::vector<std::string>& taken);
  // The group's, since it was made.
  static uint64_t oom_kills(const Group& group);
  static bool is_empty(const Group& group);
  void give_back(Group group);
  void remove_all();

 private:
  std::optional<Group> make(const GroupLimits& limits, const std::vector<std::string>& taken);

  void remove(const Group& group);

  ControlGroups* groups_;
  bool usable_;
  uint64_t last_ = 0;        // number in a name
  std::vector<Group> free_;  // the one that has been so for longest comes first
};

}  // namespace minke::node
