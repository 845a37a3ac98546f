// The configuration of one cluster: minke.toml and slurm.conf, with defaults for all of it, so that neither
// is needed.
//
// docs/configuration.md describes both. Read once at start (and by `scontrol reconfigure`); immutable
// after.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/policy.h"
#include "config/prologs.h"
#include "config/storage.h"
#include "model/cluster.pb.h"
#include "model/mail.pb.h"
#include "model/proxy.pb.h"
#include "node/nvml.h"

namespace minke::node {
class GpuReport;
}  // namespace minke::node

namespace minke::config {

model::MailSettings default_mail_settings();

// [mail]
struct MailConfiguration {
  model::MailSettings settings = default_mail_settings();
  uint32_t max_per_hour = 100;  // messages to one user
  uint32_t retry_seconds = 60;  // before the second try; each further one waits twice as long
  uint32_t give_up_hours = 72;
};

// [gpus]
struct GpuConfiguration {
  bool discover = true;  // else there are only virtual ones
  node::GpuOptions driver;
};

// All nodes, no limits.
model::PartitionRecord default_partition();

struct Configuration {
  std::string home;                 // absolute
  std::string source_path;          // of minke.toml, or of a slurm.conf in its place; empty: none
  std::string slurm_conf;           // where a slurm.conf is, or would be
  std::vector<std::string> files;   // that were read
  std::vector<std::string> unused;  // what slurm.conf sets, and nothing here answers to: "FILE:LINE: Prolog"
  std::string cluster_name = "minke";
  std::string tmp_root;    // where each job's $SLURM_TMPDIR is made
  uint64_t tmp_bytes = 0;  // how large it may be; 0: as large as there is room
  // MpiDefault: what srun offers to MPI libraries without --mpi; auto: what the program is linked with.
  std::string mpi_default = "auto";
  uint32_t kill_wait_seconds = 30;       // between SIGTERM and SIGKILL
  uint32_t min_job_age_seconds = 300;    // how long squeue and scontrol still show a job that ended
  uint32_t max_array_size = 4000002;     // largest index + 1
  uint32_t max_job_count = 10000000;     // pending and running, tasks counted singly
  bool all_partitions_must_fit = false;  // EnforcePartLimits=ALL: of a job's list; else one is enough
  bool requeue_by_default = true;        // JobRequeue
  // After this long a requeued job may start again, so that one that requeues itself at once keeps nobody
  // busy. (Slurm waits two minutes, for its credentials to expire.)
  uint32_t requeue_delay_seconds = 2;
  bool bind_cpus = true;         // jobs' processes to as many CPUs as they have
  bool constrain_memory = true;  // where the kernel offers control groups
  bool shared = false;           // serves all users of this machine, as root (os/minke_home.h)
  std::string operators;         // groups of users (engine/embedded/accounts/rights.h); empty: root alone
  std::string administrators;
  bool private_tmp = false;   // each job has a /tmp and a /dev/shm of its own
  bool private_jobs = false;  // users see their own only
  uint32_t max_pids = 0;      // processes and threads of a job at a time; 0: any number
  std::vector<std::pair<std::string, uint32_t>> licenses;           // by name: how many there are
  std::vector<model::NodeRecord> nodes;                             // at least one
  std::vector<model::PartitionRecord> partitions;                   // at least one, one of them default
  model::PartitionRecord partition_defaults = default_partition();  // of one that says nothing of itself
  std::string metrics;  // HOST:PORT where /metrics is served; empty: nowhere
  StorageConfiguration storage;
  uint32_t measuring_interval = 10;  // seconds between samples of running jobs; 0: none
  GpuConfiguration gpus;
  // By name of the node: the machine's GPUs that it is given, by their numbers. Others have none.
  std::map<std::string, std::vector<uint32_t>> gpus_of_nodes;
  std::string gpu_problem;  // why the machine's GPUs cannot be used; empty: they can, or there are none
  std::optional<MailConfiguration> mail;  // absent: no mail is sent
  std::string mail_domain;                // of users who gave no address
  model::ProxySettings proxy;             // of offline partitions
  AccountingPolicy accounting;
  PriorityPolicy priority;
  PreemptionPolicy preemption;
  PrologConfiguration prologs;
  std::vector<std::pair<std::string, accounts::TresWeights>> billing;  // by partition; not there: the CPUs
  std::map<std::string, std::vector<std::string>> serves;  // by partition: kinds of jobs that name none
  uint32_t first_job_id = 1;                               // of a cluster that has had no job yet
};

// `machine` is what this machine offers: the node where the file declares none, and the defaults of those
// that it does declare. Errors name file, line and what was expected.
// Asks the machine for its GPUs, in a process of its own, where the file does not forbid that.
// `path`: minke.toml, or a slurm.conf, by its ending ".conf"; empty: there is none. In `home` there may be a
// slurm.conf besides; empty: what `path` names is all.
Result<Configuration> load_configuration(const std::string& home, const std::string& path,
                                         const model::NodeRecord& machine);
// The same from text, without GPUs; `path` only for messages.
Result<Configuration> parse_configuration(const std::string& text, const std::string& path,
                                          const model::NodeRecord& machine);

// Gives the machine's GPUs to the nodes: to those that the file names, else all of them to this machine's
// node, or the first one that has no virtual ones. What cannot be given goes to gpu_problem.
void give_gpus(Configuration& config, const node::GpuReport& machine);

}  // namespace minke::config
