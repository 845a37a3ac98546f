// What a one-machine cluster knows, taken into a real Slurm that has just been set up on this machine: its
// accounts, what was used, the record of ended jobs, and the jobs that wait. And the comparison afterwards.
//
// take_snapshot() writes a directory that only root can read; every other function reads it. So all of them
// see the same cluster, whatever the old daemon does meanwhile. The old cluster itself is never changed.
//
// Each function can be repeated, also after it was killed in its middle: it looks what is there already, does
// what is missing, and compares in the end. What cannot be carried is told, never dropped silently.
//
// Blocking; one thread; for root on the head.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::engine {
class Engine;
}  // namespace minke::engine

namespace minke::grow {

// The one-machine cluster.
struct OldCluster {
  std::string home;                // MINKE_HOME
  std::string name;                // ClusterName
  int64_t half_life = 7 * 86'400;  // of usage, in seconds; 0: it stays
  // How much the age of a waiting job counts (PriorityWeightAge), and when it counts fully, in seconds.
  // 0: jobs start in the order of their submission.
  uint32_t weight_age = 0;
  int64_t max_age = 7 * 86'400;
};

// The real Slurm of this machine. slurmctld, slurmdbd, their data base and munge run.
struct NewSlurm {
  std::string programs = "/usr/bin";  // scontrol, sacctmgr, sacct, mariadb
  std::string daemons = "/usr/sbin";  // slurmrestd
  std::string database_configuration = "/etc/slurm/slurmdbd.conf";
  // Starts slurmctld again after `scontrol shutdown slurmctld`. Unset: systemctl start slurmctld.
  std::function<Status()> start_controller = nullptr;
};

struct Brought {
  uint64_t added = 0, changed = 0, there_already = 0;
  std::vector<std::string> remarks;  // what was not carried, or not whole, and why: one for each
};

// Once submissions are closed; the old daemon still runs. A directory that has a snapshot keeps it.
Status take_snapshot(engine::Engine& cluster, const OldCluster& old, const std::string& directory);

// What ran under the old engine when `before` was taken, and has ended when `after` was: its record; what has
// been used since; those that were requeued meanwhile and wait; and those that were held because they depend
// on it, which are released where they may run. After the others.
Result<Brought> bring_left(const std::string& before, const std::string& after, const NewSlurm& slurm);

// Accounts, people, associations, QOS, coordinators.
Result<Brought> bring_accounts(const std::string& directory, const NewSlurm& slurm);

// What has been used, decayed until now, into slurmctld's own files: slurmctld is stopped and started again.
// After the accounts.
Result<Brought> bring_usage(const std::string& directory, const NewSlurm& slurm);

// The record of ended jobs, into slurmdbd's data base; and slurmdbd sums it up again for sreport, when the
// next hour begins or when it is started.
Result<Brought> bring_record(const std::string& directory, const NewSlurm& slurm);

// Waiting jobs, under their own numbers, in their order, with holds, dependencies and begin times. After the
// accounts. slurm.conf needs AuthAltTypes=auth/jwt, and this machine slurmrestd. All partitions are DOWN
// until the last job is whole.
Result<Brought> bring_waiting_jobs(const std::string& directory, const NewSlurm& slurm);

// The old cluster, as the snapshot has it, and the new Slurm, field by field. Jobs that have begun in the new
// Slurm are no difference, nor is what has been used since.
struct Difference {
  std::string what;   // "job 4711", "user ann in physics"
  std::string field;  // "TimeLimit"; "it": it is not there, or was not
  std::string before, now;
};
struct Comparison {
  std::vector<std::string> equal;  // "12 associations", "4711 ended jobs"
  std::vector<Difference> differences;
  std::vector<std::string> remarks;
};
Result<Comparison> check(const std::string& directory, const NewSlurm& slurm);
// Lines for a person.
std::string in_words(const Comparison& comparison);

// Before the old cluster takes up its queue again. All partitions of the new Slurm are DOWN afterwards.
// Carried jobs that still wait there are cancelled there. Those that have begun there must be cancelled in
// the old cluster before it opens: nothing runs twice.
struct WayBack {
  std::vector<std::string> taken_back;  // "4711", "4712_3"
  std::vector<std::string> begun;
};
Result<WayBack> way_back(const std::string& directory, const NewSlurm& slurm);

// A number above all that were ever used: FirstJobId of the new slurm.conf.
Result<uint32_t> next_job_id(const std::string& directory);

}  // namespace minke::grow
