// SpareGroups: control groups that are reused from job to job with the same limits, because making and
// removing one costs as much as starting a short script. Used in version 1 with the pids controller,
// whose process count per group is exact. In version 2 tasks are born in their group, which is cheap,
// but each launch needs its own.
//
// A group belongs to one job at a time. It is reused only if it is empty, has no nested groups, was
// never killed as a group (which closes it), and is charged only a little memory: memory that stays
// charged to it (files of the last job in the page cache or a tmpfs) would count for the next job. Other
// groups are removed. One thread.
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

  // Takes a group for a job with these limits. Nothing if there is none, or if the kernel refuses a limit.
  // `taken`: names that must not be used.
  std::optional<Group> take(const GroupLimits& limits, const std::vector<std::string>& taken);
  // OOM kills in the group since it was made.
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
  std::vector<Group> free_;  // the one that has been free for longest comes first
};

}  // namespace minke::node
