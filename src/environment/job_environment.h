// The variables in the environment of a job, an allocation or a task, as `man sbatch` and `man srun` list
// them under OUTPUT ENVIRONMENT VARIABLES. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/version.h"
#include "storage/tiers.h"

namespace minke::model {
class JobRecord;
class NodeAllocation;
}  // namespace minke::model

namespace minke::environment {

struct JobSurroundings {
  std::string cluster_name;
  std::string home;         // MINKE_HOME of this cluster
  std::string config_path;  // SLURM_CONF; may be empty
  std::string tmp_dir;
  std::string mpi_default;  // empty: by the program
  std::string reservation;  // the one that a script runs in; empty: the one it names
  // For an array: its size and range.
  uint32_t array_count = 0, array_min = 0, array_max = 0, array_step = 1;
  int release = kSlurm22;  // of Slurm whose variables are meant
};

// Returns NAME=VALUE each. `record` has its spec.
std::vector<std::string> allocation_environment(const model::JobRecord& record,
                                                const JobSurroundings& around);
// Returns the variables that differ between the components of a heterogeneous job, with _HET_GROUP_n
// behind their names.
std::vector<std::string> component_environment(const model::JobRecord& record, const JobSurroundings& around,
                                               uint32_t offset);
// Whether the block (NAME=VALUE, each ended by NUL) has it; `name` with its "=".
bool has_variable(std::string_view block, std::string_view name);
// The submitting command puts its directory into the block; removes it from a job for which
// --chdir names another.
void leave_submit_dir(std::string_view block, std::vector<std::string>& variables);
// Returns what programs need to know if a job has several nodes, which are all this machine; the user's own
// environment (`block`) takes precedence. Open MPI names the shared memory between processes of one machine
// by host and by place on the node, so two virtual nodes would share it; and it leaves out loopback, the only
// network that always exists.
std::vector<std::string> virtual_node_environment(int nodes, std::string_view block);
// Returns the places of the cluster's tiers of storage for the job's user. The user's own environment
// (`block`) takes precedence, except for the job's own directory, and for the project that every shell of the
// user has.
struct Projects {
  std::string usual;   // the group whose project shells have
  std::string of_job;  // the group whose project the job has
};
std::vector<std::string> tier_environment(const std::vector<storage::Tier>& tiers, const std::string& user,
                                          const Projects& projects, const std::string& tmp_dir,
                                          std::string_view block);
// Names and values.
using GpuVariables = std::vector<std::pair<std::string, std::string>>;
// Returns the further variables of a batch script. `gpus`: how its GPUs are named to it.
std::vector<std::string> batch_environment(const model::JobRecord& record, const GpuVariables& gpus,
                                           int release = kSlurm22);

// "2(x3),1": Slurm's form of one number a node.
std::string counts_per_node(const std::vector<uint32_t>& counts);
// The device numbers of one node's GPUs, "0,2"; empty if there are none.
std::string gpu_indices(const model::NodeAllocation& node);
// Includes those that it has shards of.
std::vector<uint32_t> gpu_numbers(const model::NodeAllocation& node);
uint32_t shard_count(const model::NodeAllocation& node);

// Names in `additions` (NAME=VALUE each) replace those in the block (NAME=VALUE, each ended by NUL).
// `prefix_path` goes in front of PATH unless it is part of it.
std::string merge_environment(std::string_view block, const std::vector<std::string>& additions,
                              const std::string& prefix_path);

}  // namespace minke::environment
