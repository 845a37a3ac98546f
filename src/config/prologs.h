// [prolog], and the parameters of a slurm.conf of the same names: programs of the administrator's that run
// before and after jobs, steps and tasks (engine/embedded/launching/prologs.h).
//
// Prolog, Epilog and their Slurmctld forms run with the daemon's rights: as root in a shared cluster, where
// their files must be root's alone (os/trusted_file.h). The others run as the job's user.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::config {

class Table;

struct PrologConfiguration {
  // Absolute paths and patterns of glob(7), in the order in which they run.
  std::vector<std::string> prolog, epilog;
  std::vector<std::string> prolog_slurmctld, epilog_slurmctld;
  std::string task_prolog, task_epilog;  // absolute paths; empty: none
  std::string srun_prolog, srun_epilog;
  // PrologFlags
  bool at_allocation = false;    // Alloc: on all nodes, before anything of the job runs
  bool one_at_a_time = false;    // Serial: on each node
  std::string flags;             // as they are shown
  uint32_t timeout_seconds = 0;  // PrologEpilogTimeout; 0: none
  bool hold_when_failed = true;  // else SchedulerParameters=nohold_on_prolog_fail
};

// Whether it is one of them, any case.
bool is_prolog_parameter(std::string_view name);
// One of them in a slurm.conf. Of Prolog, Epilog and their Slurmctld forms each line adds to those before it.
// Returns false if it names a program that this machine does not have, and a cluster of a user's own, where a
// foreign slurm.conf is tried out, does without it.
Result<bool> set_prolog_parameter(PrologConfiguration& config, const std::string& name,
                                  const std::string& value, bool shared);
void read_prologs(Table& table, PrologConfiguration& config);
// As it is shown; empty: it is not set.
std::string prolog_parameter(const PrologConfiguration& config, std::string_view name);

// Every program must be there; in a shared cluster those that run as root must be root's alone.
Status check_prologs(const PrologConfiguration& config, bool shared);

}  // namespace minke::config
