// slurm.conf: the parameters.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "grow/slurm_files.h"

namespace minke::grow {
namespace {

using config::Configuration;

constexpr SlurmVersion kNamespaces{25, 11};  // job_container/ is called namespace/ from then on
constexpr uint32_t kMostArraySize = 4000001;
constexpr uint32_t kMostJobs = 1000000;  // slurmctld has a table for all of them from its start

class Lines {
 public:
  void section(std::string_view title) { out_ += fmt::format("\n# {}\n", title); }
  template <typename Value>
  void set(std::string_view name, const Value& value) {
    fmt::format_to(std::back_inserter(out_), "{}={}\n", name, value);
  }
  std::string take() { return std::move(out_); }
  std::string& text() { return out_; }

 private:
  std::string out_;
};

void add_daemons(const Configuration& config, const Grown& grown, Lines& to) {
  const Machine& head = grown.machines.front();
  to.set("ClusterName", config.cluster_name);
  to.set("SlurmctldHost", head.name + (head.address.empty() ? "" : "(" + head.address + ")"));
  to.set("SlurmUser", "slurm");
  to.set("AuthType", "auth/munge");
  to.set("CredType", "cred/munge");
  to.set("AuthAltTypes", "auth/jwt");
  to.set("AuthAltParameters", std::string("jwt_key=") + kTokenKey);
  to.set("StateSaveLocation", "/var/lib/slurm/slurmctld");
  to.set("SlurmdSpoolDir", "/var/lib/slurm/slurmd");
  to.set("SlurmctldPidFile", "/run/slurmctld.pid");
  to.set("SlurmdPidFile", "/run/slurmd.pid");
  to.set("SlurmctldLogFile", "/var/log/slurm/slurmctld.log");
  to.set("SlurmdLogFile", "/var/log/slurm/slurmd.log");
  to.set("ReturnToService", 2);
  to.text() += "# When Minke stops, the number after its last job's is put here.\n";
  to.set("FirstJobId", 1);
}

void add_jobs(const Configuration& config, const Grown& grown, Lines& to, Notes& notes) {
  to.section("Jobs");
  to.set("MaxArraySize", std::min(config.max_array_size, kMostArraySize));
  if (config.max_array_size > kMostArraySize)
    notes.push_back(fmt::format("MaxArraySize is {}, which is the most of Slurm's, and was {}",
                                kMostArraySize, config.max_array_size));
  to.set("MaxJobCount", std::min(config.max_job_count, kMostJobs));
  if (config.max_job_count > kMostJobs)
    notes.push_back(
        fmt::format("MaxJobCount is {}, and was {}: slurmctld takes memory for each from its start",
                    kMostJobs, config.max_job_count));
  to.set("MinJobAge", config.min_job_age_seconds);
  to.set("KillWait", config.kill_wait_seconds);
  to.set("EnforcePartLimits", config::part_limits_word(config.part_limits));
  to.set("JobRequeue", config.requeue_by_default ? 1 : 0);
  if (config.private_jobs) to.set("PrivateData", "jobs");
  if (config.interactive_step) to.set("LaunchParameters", "use_interactive_step");
  to.set("MpiDefault", config.mpi_default == "auto" ? "none" : config.mpi_default);
  if (config.mpi_default == "auto")
    notes.push_back("mpi_default = \"auto\" is not Slurm's: srun --mpi=pmix, or MpiDefault, says it");
  std::string licenses;
  for (const auto& [name, count] : config.licenses)
    licenses += fmt::format("{}{}:{}", licenses.empty() ? "" : ",", name, count);
  if (!licenses.empty()) to.set("Licenses", licenses);
  if (!job_submit_lua(config, grown).empty()) to.set("JobSubmitPlugins", "lua");
  if (config.max_pids != 0)
    notes.push_back("max_pids is not Slurm's: limit processes by systemd or pam_limits on the nodes");
  if (config.tmp_bytes != 0)
    notes.push_back("tmp_size is not Slurm's: $SLURM_TMPDIR is as large as its disk");
}

void add_confinement(const Configuration& config, const Grown& grown, Lines& to, Notes& notes) {
  to.section("What holds jobs");
  const bool groups = grown.control_groups;
  to.set("ProctrackType", groups ? "proctrack/cgroup" : "proctrack/linuxproc");
  std::string tasks = groups ? "task/cgroup" : "task/none";
  if (config.bind_cpus && groups) tasks += ",task/affinity";
  to.set("TaskPlugin", tasks);
  to.set("JobAcctGatherType", groups ? "jobacct_gather/cgroup" : "jobacct_gather/linux");
  to.set("JobAcctGatherFrequency", fmt::format("task={}", config.measuring_interval));
  if (!groups)
    notes.push_back(
        "not all machines have control groups of version 2 with systemd: jobs are not held to their "
        "processors, memory and GPUs by the kernel");
  to.set("Prolog", "/etc/slurm/minke-prolog.sh");
  to.set("Epilog", "/etc/slurm/minke-epilog.sh");
  to.set("TaskProlog", "/etc/slurm/minke-task-prolog.sh");
  if (!config.prologs.task_epilog.empty()) to.set("TaskEpilog", config.prologs.task_epilog);
  if (!config.prologs.srun_prolog.empty()) to.set("SrunProlog", config.prologs.srun_prolog);
  if (!config.prologs.srun_epilog.empty()) to.set("SrunEpilog", config.prologs.srun_epilog);
  if (config.prologs.timeout_seconds != 0) to.set("PrologEpilogTimeout", config.prologs.timeout_seconds);
  std::string flags = config.prologs.at_allocation ? "Alloc" : "";
  if (config.prologs.one_at_a_time) flags += flags.empty() ? "Serial" : ",Serial";
  if (config.private_tmp) {
    if (groups) {
      flags += flags.empty() ? "Contain" : ",Contain";
      if (grown.version() < kNamespaces) {
        to.set("JobContainerType", "job_container/tmpfs");
      } else {
        to.set("NamespaceType", "namespace/tmpfs");
      }
    } else {
      notes.push_back("private_tmp needs control groups in Slurm: jobs share /tmp");
    }
  }
  if (!flags.empty()) to.set("PrologFlags", flags);
}

std::string enforced(const config::AccountingPolicy& policy) {
  std::string words;
  const auto add = [&](bool on, const char* word) {
    if (on) words += (words.empty() ? "" : ",") + std::string(word);
  };
  add(policy.associations, "associations");
  add(policy.limits, "limits");
  add(policy.qos, "qos");
  add(policy.safe, "safe");
  return words;
}

void add_accounting(const Configuration& config, const Grown& grown, Lines& to, Notes& notes) {
  to.section("Accounting");
  const Machine& head = grown.machines.front();
  to.set("AccountingStorageType", "accounting_storage/slurmdbd");
  to.set("AccountingStorageHost", head.address.empty() ? head.name : head.address);
  to.set("AccountingStoreFlags", "job_comment,job_env,job_extra,job_script");
  const std::string words = enforced(config.accounting);
  if (!words.empty()) to.set("AccountingStorageEnforce", words);
  std::vector<std::string> types;
  for (const Machine& machine : grown.machines)
    for (const Gpu& gpu : machine.gpus)
      for (const std::string& type : gpu.offered())
        if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  if (!types.empty()) {
    to.set("GresTypes", "gpu");
    std::string counted = "gres/gpu";
    for (const std::string& type : types) counted += ",gres/gpu:" + type;
    to.set("AccountingStorageTRES", counted);
  }
  if (config.accounting.track_wckey) to.set("TrackWCKey", "yes");
  if (config.accounting.split_accounts)
    notes.push_back(
        "split_accounts (ACCOUNT_cpu, ACCOUNT_gpu by request) is not carried: jobs name the account");
  if (config.accounting.ask_account)
    notes.push_back(
        "ask_account is not Slurm's: a job without --account counts for its user's default account");
}

void add_priority(const Configuration& config, Lines& to) {
  to.section("Order");
  to.set("SchedulerType", "sched/backfill");
  to.set("SelectType", "select/cons_tres");
  to.set("SelectTypeParameters", "CR_CPU_Memory");
  const config::PriorityPolicy& policy = config.priority;
  to.set("PriorityType", policy.multifactor ? "priority/multifactor" : "priority/basic");
  if (policy.multifactor) {
    to.set("PriorityWeightAge", policy.weights.age);
    to.set("PriorityWeightAssoc", policy.weights.association);
    to.set("PriorityWeightFairshare", policy.weights.fair_share);
    to.set("PriorityWeightJobSize", policy.weights.job_size);
    to.set("PriorityWeightPartition", policy.weights.partition);
    to.set("PriorityWeightQOS", policy.weights.qos);
    if (!policy.tres_text.empty()) to.set("PriorityWeightTRES", policy.tres_text);
    const auto clock = [](int64_t seconds) {
      return fmt::format("{}-{:02}:{:02}:{:02}", seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60,
                         seconds % 60);
    };
    to.set("PriorityMaxAge", clock(policy.weights.max_age));
    to.set("PriorityDecayHalfLife", policy.half_life == 0 ? "0" : clock(policy.half_life));
    to.set("PriorityCalcPeriod", clock(std::max<int64_t>(policy.calc_period, 1)));
    to.set("PriorityFavorSmall", policy.weights.favor_small ? "YES" : "NO");
    constexpr const char* kResets[] = {"NONE", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY"};
    to.set("PriorityUsageResetPeriod", kResets[static_cast<size_t>(policy.reset)]);
  }
  const bool maximum = policy.max_tres || std::any_of(config.billing.begin(), config.billing.end(),
                                                      [](const auto& one) { return one.second.maximum; });
  if (maximum) to.set("PriorityFlags", "MAX_TRES");
  if (config.preemption.enabled()) {
    to.set("PreemptType",
           config.preemption.type == config::PreemptType::kQos ? "preempt/qos" : "preempt/partition_prio");
    const auto mode = config.preemption.mode;
    to.set("PreemptMode",
           mode == config::PreemptMode::kSuspend ? "SUSPEND,GANG" : config::preempt_mode_name(mode));
  }
}

void add_mail(const Configuration& config, Lines& to, Notes& notes) {
  if (!config.mail) return;
  to.section("Mail");
  if (!config.mail_domain.empty()) to.set("MailDomain", config.mail_domain);
  const model::MailSettings& settings = config.mail->settings;
  if (!settings.mail_program().empty()) {
    to.set("MailProg", settings.mail_program());
  } else if (settings.program().empty()) {
    notes.push_back(
        "mail by " + settings.server() +
        " is not carried: Slurm calls MailProg (/usr/bin/mail), so the head needs a mail program");
  } else {
    to.set("MailProg", "/etc/slurm/minke-mail.sh");
  }
}

}  // namespace

std::string slurm_conf(const Configuration& config, const Grown& grown, Notes& notes) {
  Lines to;
  to.text() =
      fmt::format("{}: slurm.conf, for Slurm {}. The same on all machines.\n", kMark, grown.version().text());
  add_daemons(config, grown, to);
  add_jobs(config, grown, to, notes);
  add_confinement(config, grown, to, notes);
  add_accounting(config, grown, to, notes);
  add_priority(config, to);
  add_mail(config, to, notes);
  to.section("Machines");
  if (!topology_conf(grown, notes).empty()) to.set("TopologyPlugin", "topology/tree");
  to.text() += node_lines(config, grown, notes);
  to.section("Partitions");
  to.text() += partition_lines(config, grown, notes);
  return to.take();
}

}  // namespace minke::grow
