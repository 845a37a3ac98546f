// The control groups of the jobs of one launcher: a group for each run of a job, with the job's limits, and
// in it one for each launch (a batch script, or a step) on each of its nodes, with its own. A batch script
// that may take all that its job may is in the job's own group where the kernel allows that (version 1): each
// group costs time.
//
// Where the kernel offers no groups all calls do nothing, and jobs run as they do there. The names say whose
// the groups are ("job_12.0/step_3.0"), so that nothing needs to be remembered over a restart; but most
// jobs use spare ones (spare_groups.h) where that is faster. What a launcher that was killed has
// left is killed when this is made, and removed by and by. One thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "node/control_groups.h"
#include "node/launch.pb.h"
#include "node/launch_table.h"
#include "node/spare_groups.h"

namespace minke::node {

class JobGroups {
 public:
  // `name`: tells this launcher's groups from another's.
  // `shared`: jobs are held to their CPUs, and kept from others' devices.
  JobGroups(const std::string& name, bool shared);
  ~JobGroups();

  // For who measures: where the groups are. Null: there are none.
  const ControlGroups* groups() const { return groups_ ? &*groups_ : nullptr; }
  static std::string name_of(const JobKey& job);
  const std::string& problem() const { return problem_; }  // why there are no groups; empty: there are

  // Makes the groups of a launch, and its job's with the first one. By place of the order, or, where the job
  // has no groups, nothing. Errors: the kernel refuses; then the launch has none.
  Result<std::vector<GroupEntry>> make(const LaunchOrder& order,
                                       const std::vector<std::vector<uint32_t>>& job_cpus);
  bool has(const JobKey& job) const { return jobs_.contains(name_of(job)); }

  // Of the launch's processes, those that the kernel killed for want of memory since the last call.
  uint32_t new_oom_kills(const LaunchKey& launch);

  std::vector<pid_t> processes(const JobKey& job);
  std::vector<pid_t> processes(const LaunchKey& launch);

  // Both send SIGKILL to all of it but `spared`, and are to be called until they say true: nothing is left of
  // it.
  bool end(const JobKey& job, pid_t spared);
  bool end(const LaunchKey& launch, pid_t spared);

 private:
  struct Launch {
    std::vector<std::string> groups;  // by place
    uint64_t oom_kills = 0;           // told so far
  };
  struct Job {
    std::string group;
    std::optional<SpareGroups::Group> spare;  // which is that group
    std::unordered_map<std::string, Launch> launches;
  };
  static std::string name_of(const LaunchKey& launch);
  Launch* find(const LaunchKey& launch);
  Status make(const std::string& name, Job& job, const GroupLimits& limits);
  Result<GroupEntry> open(const Job& job, const std::string& group) const;
  std::string group_of(const Job& job, const LaunchOrder& order, int place) const;
  bool end(Job& job, pid_t spared);
  bool end(const std::string& group, pid_t spared);
  void remove_stale();

  std::optional<ControlGroups> groups_;
  std::optional<SpareGroups> spares_;  // where there are groups
  std::string problem_;
  std::unordered_map<std::string, Job> jobs_;
  std::vector<std::string> stale_;
};

}  // namespace minke::node
