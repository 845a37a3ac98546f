// The configuration of one cluster: minke.toml and slurm.conf, with defaults for everything, so that
// neither is required.
//
// docs/configuration.md describes both. Read once at start (and by `scontrol reconfigure`); immutable
// after.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/version.h"
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
  bool webhooks = false;  // whether messages go to web hooks at all; the mailer reads where to
  bool commands = false;  // whether they go to users' own commands

  bool has_mail() const {
    return !settings.program().empty() || !settings.server().empty() || !settings.mail_program().empty();
  }
};

// [gpus]
struct GpuConfiguration {
  bool discover = true;  // else only virtual ones exist
  node::GpuOptions driver;
};

// [containers]
struct ContainerConfiguration {
  std::string runtime;  // of OCI bundles: a name or a path; empty: the first of crun and runc
  std::string mounts;   // what every image sees: "/SRC:/DST[:FLAGS],…"
};

// All nodes, no limits.
model::PartitionRecord default_partition();

// Who reaches the ports of offline jobs: [offline] ports.
enum class PortAccess : uint8_t {
  kJob,        // the job itself
  kUser,       // its user: from the log-in side, and from other offline jobs
  kEverybody,  // every user of the machine, too
};

// EnforcePartLimits: what becomes of a job that limits of its partitions keep out.
enum class PartLimits : uint8_t {
  kAny,  // refused unless one partition of its list takes it
  kAll,  // refused unless all do
  kNo,   // it waits until a limit or the job changes
};
// "any", in any case; YES is ALL. Returns nothing for an unknown word.
std::optional<PartLimits> parse_part_limits(std::string_view word);
std::string part_limits_word(PartLimits limits);  // as Slurm writes it

struct Configuration {
  std::string home;                 // absolute
  std::string source_path;          // of minke.toml, or of a slurm.conf in its place; empty: none
  std::string slurm_conf;           // the path of a slurm.conf, existing or not
  std::vector<std::string> files;   // the files that were read
  std::vector<std::string> unused;  // settings of slurm.conf without effect here: "FILE:LINE: Prolog"
  std::string cluster_name = "minke";
  int slurm_release = kSlurm26;  // [compatibility] slurm
  // SelectTypeParameters, as "CR_CORE_MEMORY"; empty: not said. Where it names memory, a job that asks for
  // none has its nodes' whole memory; else it may share them with others.
  std::string select_parameters;
  std::string tmp_root;    // the directory for each job's $SLURM_TMPDIR
  uint64_t tmp_bytes = 0;  // its limit in bytes; 0: as large as there is room
  // MpiDefault: what srun offers to MPI libraries without --mpi; auto: what the program is linked with.
  std::string mpi_default = "auto";
  uint32_t kill_wait_seconds = 30;     // between SIGTERM and SIGKILL
  uint32_t min_job_age_seconds = 300;  // how long squeue and scontrol still show a job that ended
  uint32_t max_array_size = 4000002;   // largest index + 1
  uint32_t max_job_count = 10000000;   // pending and running, tasks counted singly
  PartLimits part_limits = PartLimits::kAny;
  bool requeue_by_default = true;       // JobRequeue
  bool cancel_cron_explicitly = false;  // ScronParameters=explicit_scancel: scancel wants --cron
  // A requeued job may start again after this time, so that a job that requeues itself at once does not keep
  // the daemon busy. (Slurm waits two minutes, for its credentials to expire.)
  uint32_t requeue_delay_seconds = 2;
  bool bind_cpus = true;         // binds jobs' processes to as many CPUs as they have
  bool constrain_memory = true;  // if the kernel offers control groups
  bool shared = false;           // serves all users of this machine, as root (os/minke_home.h)
  std::string operators;         // groups of users (engine/embedded/accounts/rights.h); empty: only root
  std::string administrators;
  bool private_tmp = false;   // each job has a /tmp and a /dev/shm of its own
  bool private_jobs = false;  // users see their own only
  uint32_t max_pids = 0;      // processes and threads of a job at a time; 0: any number
  std::vector<std::pair<std::string, uint32_t>> licenses;           // by name: the number
  std::vector<model::NodeRecord> nodes;                             // at least one
  std::vector<model::PartitionRecord> partitions;                   // at least one, one of them default
  model::PartitionRecord partition_defaults = default_partition();  // the defaults of partitions
  std::string metrics;  // HOST:PORT where /metrics is served; empty: nowhere
  StorageConfiguration storage;
  uint32_t measuring_interval = 10;  // seconds between samples of running jobs; 0: none
  GpuConfiguration gpus;
  // By name of the node: its GPUs of this machine, by their numbers. Nodes without any are missing.
  std::map<std::string, std::vector<uint32_t>> gpus_of_nodes;
  std::string gpu_problem;  // why the machine's GPUs cannot be used; empty: they can, or there are none
  std::optional<MailConfiguration> mail;     // absent: no mail is sent
  std::string mail_domain;                   // of users who gave no address
  model::ProxySettings proxy;                // of offline partitions
  PortAccess job_ports = PortAccess::kUser;  // of offline jobs
  ContainerConfiguration containers;
  AccountingPolicy accounting;
  PriorityPolicy priority;
  PreemptionPolicy preemption;
  PrologConfiguration prologs;
  std::vector<std::pair<std::string, accounts::TresWeights>> billing;  // by partition; missing: the CPUs
  std::map<std::string, std::vector<std::string>> serves;  // by partition: kinds of jobs that name none
  std::set<std::string> shared_by_gpu;  // partitions where a share of the node comes with each of its GPUs
  bool interactive_step = true;         // salloc's shell is a step on the first node (use_interactive_step)
  uint32_t first_job_id = 1;            // of a cluster that has had no job yet
};

// `machine` is what this machine offers: the node if the file declares none, and the defaults of
// those that it declares. Errors name file, line and what was expected. Asks the machine for its
// GPUs, in a process of its own, unless the file forbids that. `path` is a minke.toml, or a
// slurm.conf if it ends in ".conf"; empty: there is none. `home` may contain a slurm.conf as well;
// empty: only `path` counts.
Result<Configuration> load_configuration(const std::string& home, const std::string& path,
                                         const model::NodeRecord& machine);
// The same from text, without GPUs; `path` only for messages.
Result<Configuration> parse_configuration(const std::string& text, const std::string& path,
                                          const model::NodeRecord& machine);

// Gives the machine's GPUs to the nodes: to those that the file names, else all of them to this machine's
// node, or to the first one without virtual ones. Problems go to gpu_problem.
void give_gpus(Configuration& config, const node::GpuReport& machine);

}  // namespace minke::config
