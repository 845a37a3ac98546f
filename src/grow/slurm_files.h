// The files of a Slurm that goes on where a one-machine Minke stops: from Minke's configuration and the
// machines' facts to the content of slurm.conf and what belongs to it.
//
// The same input gives the same bytes. What a release of Slurm (22.05, 24.11, 26.05) calls otherwise, or does
// not have, is decided here and nowhere else. What cannot be said in Slurm's words becomes a note. Pure; any
// thread.
#pragma once

#include <string>
#include <vector>

#include "config/configuration.h"
#include "grow/machine.h"
#include "model/cluster.pb.h"

namespace minke::grow {

// The first line of every file that is written; by it they are known again.
inline constexpr char kMark[] = "# By minke grow";

// Of slurmctld's and slurmdbd's tokens, on the head alone. Made where there is none.
inline constexpr char kTokenKey[] = "/etc/slurm/jwt_hs256.key";

struct Grown {
  std::vector<Machine> machines;                   // the head first
  std::vector<model::PartitionRecord> partitions;  // as Minke has them now
  bool head_computes = true;
  bool control_groups = false;  // jobs are held by them: all machines can
  std::string password;         // of slurmdbd's data base
  std::string topology;         // topology.conf beside Minke's configuration; empty: none
  std::vector<model::ReservationRecord> reservations;
  SlurmVersion version() const { return slurm_version(machines.front()); }
};
// Whether all machines have control groups as Slurm wants them.
bool have_control_groups(const std::vector<Machine>& machines);

struct File {
  std::string path;
  std::string mode = "0644";
  std::string owner = "root:root";
  std::string content;
  std::string why;
  bool head_only = false;
  bool secret = false;  // its content has a password: it is not shown
};

// What is not as before, and why.
using Notes = std::vector<std::string>;

std::string slurm_conf(const config::Configuration& config, const Grown& grown, Notes& notes);
std::string node_lines(const config::Configuration& config, const Grown& grown, Notes& notes);
std::string partition_lines(const config::Configuration& config, const Grown& grown, Notes& notes);
std::string gres_conf(const Grown& grown);                    // empty: no machine has GPUs
std::string topology_conf(const Grown& grown, Notes& notes);  // empty: not needed
std::string job_submit_lua(const config::Configuration& config, const Grown& grown);  // empty: not needed
std::vector<File> slurm_files(const config::Configuration& config, const Grown& grown, Notes& notes);

}  // namespace minke::grow
