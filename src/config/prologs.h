// [prolog], and the parameters of a slurm.conf of the same names: the administrator's programs that run
// before and after jobs, steps and tasks (engine/embedded/launching/prologs.h).
//
// Prolog, Epilog and their Slurmctld forms run with the daemon's rights: as root in a shared cluster, where
// only root may be able to change the files (os/trusted_file.h). The others run as the job's user.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::config {

class Table;

struct PrologConfiguration {
  // Absolute paths and patterns of glob(7), in the order in which they run; what a pattern matches runs from
  // z to a.
  std::vector<std::string> prolog, epilog;
  std::vector<std::string> prolog_slurmctld, epilog_slurmctld;
  std::vector<std::string> resv_prolog,
      resv_epilog;                       // when a reservation begins, and ends; with the daemon's rights
  std::string task_prolog, task_epilog;  // absolute paths; empty: none
  std::string srun_prolog, srun_epilog;
  // PrologFlags
  bool at_allocation = false;    // Alloc: on all nodes, before anything of the job runs
  bool one_at_a_time = false;    // Serial: on each node
  std::string flags;             // as shown
  uint32_t timeout_seconds = 0;  // PrologEpilogTimeout; 0: none
  bool hold_when_failed = true;  // else SchedulerParameters=nohold_on_prolog_fail
};

// Whether the name is one of them, in any case.
bool is_prolog_parameter(std::string_view name);
// Sets one of them from a slurm.conf. Each line of Prolog, Epilog and their Slurmctld forms adds to those
// before it. Returns false if it names a program that this machine lacks: a user's own cluster, which tries
// out a foreign slurm.conf, does without it.
Result<bool> set_prolog_parameter(PrologConfiguration& config, const std::string& name,
                                  const std::string& value, bool shared);
void read_prologs(Table& table, PrologConfiguration& config);
// Returns the value as shown; empty if it is not set.
std::string prolog_parameter(const PrologConfiguration& config, std::string_view name);

// Every program must exist; in a shared cluster only root may be able to change those that run as root.
Status check_prologs(const PrologConfiguration& config, bool shared);

}  // namespace minke::config
