// JobGroups: the control groups of one launcher's jobs. Each run of a job has a group with the job's limits.
// In it, each launch (a batch script or a step) has a group per node with its own limits. Because groups
// cost time, a batch script that may use all resources of its job is put in the job's own group if the
// kernel allows that (version 1).
//
// If the kernel has no control groups, all calls do nothing and jobs run unconfined. Names identify
// the groups ("job_12.0/step_3.0"), so a restart needs no other memory; but most jobs use spare
// groups (spare_groups.h) where that is faster. The constructor kills what a killed launcher has
// left, and removes it later. One thread.
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
  // `name` distinguishes this launcher's groups from another's. `shared`: confine jobs to their CPUs, and
  // deny them other jobs' devices.
  JobGroups(const std::string& name, bool shared);
  ~JobGroups();

  // For measurements: where the groups are. Null: there are none.
  const ControlGroups* groups() const { return groups_ ? &*groups_ : nullptr; }
  static std::string name_of(const JobKey& job);
  const std::string& problem() const { return problem_; }  // why there are no groups; empty: they exist

  // Makes the groups of a launch, and with the first launch its job's. Returns one entry per place of the
  // order, or none if the job has no groups. Errors: the kernel refuses; then the launch has no groups.
  Result<std::vector<GroupEntry>> make(const LaunchOrder& order,
                                       const std::vector<std::vector<uint32_t>>& job_cpus);
  bool has(const JobKey& job) const { return jobs_.contains(name_of(job)); }

  // The number of the launch's processes that the kernel has OOM-killed since the last call.
  uint32_t new_oom_kills(const LaunchKey& launch);

  std::vector<pid_t> processes(const JobKey& job);
  std::vector<pid_t> processes(const LaunchKey& launch);

  // Both send SIGKILL to all processes but `spared`. Call them until they
  // return true: no process is left.
  bool end(const JobKey& job, pid_t spared);
  bool end(const LaunchKey& launch, pid_t spared);

 private:
  struct Launch {
    std::vector<std::string> groups;  // by place
    uint64_t oom_kills = 0;           // reported so far
  };
  struct Job {
    std::string group;
    std::optional<SpareGroups::Group> spare;  // set if `group` is a spare one
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
  std::optional<SpareGroups> spares_;  // set if there are groups
  std::string problem_;
  std::unordered_map<std::string, Job> jobs_;
  std::vector<std::string> stale_;
};

}  // namespace minke::node
