#include "config/listing.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/version.h"
#include "model/cluster.pb.h"
#include "model/mail.pb.h"
#include "text/duration.h"
#include "text/number.h"
#include "text/timestamp.h"

namespace minke::config {
namespace {

std::string seconds(uint32_t count) {
  return std::to_string(count) + " sec";
}

std::string joined(const std::set<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list.append(list.empty() ? "" : ",").append(name);
  return list;
}

std::string gres_types(const Configuration& config) {
  std::set<std::string> names;
  for (const auto& node : config.nodes)
    for (const auto& gres : node.gres()) names.insert(gres.name());
  return joined(names);
}

std::string accounted_tres(const Configuration& config) {
  std::set<std::string> names;
  for (const std::string& tres : config.accounting.tres)
    if (tres.starts_with("gres/") || tres.starts_with("license/")) names.insert(tres);
  for (const auto& node : config.nodes)
    for (const auto& gres : node.gres())
      if (config.accounting.tres.empty()) names.insert("gres/" + gres.name());
  const std::string gres = joined(names);
  return "cpu,mem,energy,node,billing,fs/disk,vmem,pages" + (gres.empty() ? "" : "," + gres);
}

std::string licenses(const Configuration& config) {
  std::string list;
  for (const auto& [name, count] : config.licenses) {
    list.append(list.empty() ? "" : ",").append(name).append(":").append(std::to_string(count));
  }
  return list;
}

std::string mail_program(const Configuration& config) {
  if (!config.mail) return {};
  const model::MailSettings& mail = config.mail->settings;
  if (!mail.mail_program().empty()) return mail.mail_program();
  return mail.program().empty() ? mail.server() : mail.program();
}

std::string enforced(const AccountingPolicy& policy) {
  std::string list;
  for (const auto& [is_set, word] :
       {std::pair{policy.associations, "associations"}, std::pair{policy.limits, "limits"},
        std::pair{policy.qos, "qos"}, std::pair{policy.safe, "safe"}}) {
    if (is_set) list.append(list.empty() ? "" : ",").append(word);
  }
  return list.empty() ? "none" : list;
}

// Returns the memory of each CPU, or of each node.
std::string memory(bool per_cpu, uint64_t of_cpu, uint64_t of_node) {
  const uint64_t mib = per_cpu ? of_cpu : of_node;
  return mib == 0 ? "UNLIMITED" : std::to_string(mib);
}

std::string usage_reset(UsageReset reset) {
  constexpr const char* kWords[] = {"NONE", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY"};
  return kWords[static_cast<size_t>(reset)];
}

struct Parameter {
  const char* name;
  const char* value;  // nullptr: computed
  std::string (*compute)(const ListingFacts& f) = nullptr;
  bool multifactor = false;  // listed only where that is PriorityType
};

template <uint32_t sched::PriorityWeights::*kWeight>
std::string weight(const ListingFacts& f) {
  return std::to_string(f.config.priority.weights.*kWeight);
}

// AccountingStorageType and the like name the plugin of Slurm that does what Minke does: programs look for
// slurmdbd to learn whether accounting is kept.
constexpr Parameter kParameters[] = {
    {"AccountingStorageBackupHost", ""},
    {"AccountingStorageEnforce", nullptr,
     [](const ListingFacts& f) -> std::string { return enforced(f.config.accounting); }},
    {"AccountingStorageHost", "localhost"},
    {"AccountingStorageExternalHost", ""},
    {"AccountingStorageParameters", ""},
    {"AccountingStoragePort", "0"},
    {"AccountingStorageTRES", nullptr,
     [](const ListingFacts& f) -> std::string { return accounted_tres(f.config); }},
    {"AccountingStorageType", "accounting_storage/slurmdbd"},
    {"AccountingStorageUser", "N/A"},
    {"AccountingStoreFlags", "job_comment,job_script"},
    {"AcctGatherEnergyType", "acct_gather_energy/none"},
    {"AcctGatherFilesystemType", "acct_gather_filesystem/none"},
    {"AcctGatherInterconnectType", "acct_gather_interconnect/none"},
    {"AcctGatherNodeFreq", "0 sec"},
    {"AcctGatherProfileType", "acct_gather_profile/none"},
    {"AllowSpecResourcesUsage", "No"},
    {"AuthAltTypes", ""},
    {"AuthAltParameters", ""},
    {"AuthInfo", ""},
    {"AuthType", "auth/none"},
    {"BatchStartTimeout", "0 sec"},
    {"BcastExclude", ""},
    {"BcastParameters", ""},
    {"BOOT_TIME", nullptr, [](const ListingFacts& f) -> std::string { return text::format_time(f.started); }},
    {"BurstBufferType", ""},
    {"CliFilterPlugins", ""},
    {"ClusterName", nullptr, [](const ListingFacts& f) -> std::string { return f.config.cluster_name; }},
    {"CommunicationParameters", ""},
    {"CompleteWait", "0 sec"},
    {"CoreSpecPlugin", "core_spec/none"},
    {"CpuFreqDef", "Unknown"},
    {"CpuFreqGovernors", "OnDemand,Performance,UserSpace"},
    {"CredType", "cred/none"},
    {"DebugFlags", ""},
    {"DefMemPerNode", nullptr,
     [](const ListingFacts& f) {
       const model::PartitionRecord& all = f.config.partition_defaults;
       return memory(all.has_default_mem_per_cpu_mib(), all.default_mem_per_cpu_mib(),
                     all.default_mem_per_node_mib());
     }},
    {"DependencyParameters", ""},
    {"DisableRootJobs", nullptr,
     [](const ListingFacts& f) -> std::string {
       return f.config.partition_defaults.disable_root_jobs() ? "Yes" : "No";
     }},
    {"EioTimeout", "60"},
    {"EnforcePartLimits", nullptr,
     [](const ListingFacts& f) -> std::string { return part_limits_word(f.config.part_limits); }},
    {"Epilog", ""},
    {"EpilogMsgTime", "2000 usec"},
    {"EpilogSlurmctld", ""},
    {"ExtSensorsType", "ext_sensors/none"},
    {"ExtSensorsFreq", "0 sec"},
    {"FairShareDampeningFactor", "1", nullptr, true},
    {"FederationParameters", ""},
    {"FirstJobId", nullptr,
     [](const ListingFacts& f) -> std::string { return std::to_string(f.config.first_job_id); }},
    {"GetEnvTimeout", "120 sec"},
    {"GresTypes", nullptr, [](const ListingFacts& f) -> std::string { return gres_types(f.config); }},
    {"GpuFreqDef", ""},
    {"GroupUpdateForce", "0"},
    {"GroupUpdateTime", "0 sec"},
    {"HASH_VAL", "Match"},
    {"HealthCheckInterval", "0 sec"},
    {"HealthCheckNodeState", "ANY"},
    {"HealthCheckProgram", ""},
    {"InactiveLimit", "0 sec"},
    {"InteractiveStepOptions", ""},
    {"JobAcctGatherFrequency", nullptr,
     [](const ListingFacts& f) -> std::string { return std::to_string(f.config.measuring_interval); }},
    {"JobAcctGatherType", "jobacct_gather/linux"},
    {"JobAcctGatherParams", ""},
    {"JobCompHost", ""},
    {"JobCompLoc", ""},
    {"JobCompPort", "0"},
    {"JobCompType", "jobcomp/none"},
    {"JobCompUser", ""},
    {"JobContainerType", "job_container/none"},
    {"JobCredentialPrivateKey", ""},
    {"JobCredentialPublicCertificate", ""},
    {"JobDefaults", nullptr,
     [](const ListingFacts& f) -> std::string {
       const model::PartitionRecord& all = f.config.partition_defaults;
       std::string list;
       if (all.has_default_cpus_per_gpu())
         list = "DefCpuPerGPU=" + std::to_string(all.default_cpus_per_gpu());
       if (all.has_default_mem_per_gpu_mib())
         list += (list.empty() ? "DefMemPerGPU=" : ",DefMemPerGPU=") +
                 std::to_string(all.default_mem_per_gpu_mib());
       return list;
     }},
    {"JobFileAppend", "0"},
    {"JobRequeue", nullptr,
     [](const ListingFacts& f) -> std::string { return f.config.requeue_by_default ? "1" : "0"; }},
    {"JobSubmitPlugins", ""},
    {"KillOnBadExit", "0"},
    {"KillWait", nullptr,
     [](const ListingFacts& f) -> std::string { return seconds(f.config.kill_wait_seconds); }},
    {"LaunchParameters", nullptr,
     [](const ListingFacts& f) -> std::string {
       return f.config.interactive_step ? "use_interactive_step" : "";
     }},
    {"LaunchType", "launch/slurm"},
    {"Licenses", nullptr, [](const ListingFacts& f) -> std::string { return licenses(f.config); }},
    {"LogTimeFormat", "iso8601_ms"},
    {"MailDomain", nullptr, [](const ListingFacts& f) -> std::string { return f.config.mail_domain; }},
    {"MailProg", nullptr, [](const ListingFacts& f) { return mail_program(f.config); }},
    {"MaxArraySize", nullptr,
     [](const ListingFacts& f) -> std::string { return std::to_string(f.config.max_array_size); }},
    {"MaxDBDMsgs", "0"},
    {"MaxJobCount", nullptr,
     [](const ListingFacts& f) -> std::string { return std::to_string(f.config.max_job_count); }},
    {"MaxJobId", "4294901759"},
    {"MaxMemPerNode", nullptr,
     [](const ListingFacts& f) {
       const model::PartitionRecord& all = f.config.partition_defaults;
       return memory(all.has_max_mem_per_cpu_mib(), all.max_mem_per_cpu_mib(), all.max_mem_per_node_mib());
     }},
    {"MaxNodeCount", nullptr,
     [](const ListingFacts& f) -> std::string { return std::to_string(f.config.nodes.size()); }},
    {"MaxStepCount", "4294967295"},
    {"MaxTasksPerNode", "512"},
    {"MCSPlugin", "mcs/none"},
    {"MCSParameters", ""},
    {"MessageTimeout", "10 sec"},
    {"MinJobAge", nullptr,
     [](const ListingFacts& f) -> std::string { return seconds(f.config.min_job_age_seconds); }},
    {"MpiDefault", nullptr, [](const ListingFacts& f) -> std::string { return f.config.mpi_default; }},
    {"MpiParams", ""},
    {"MULTIPLE_SLURMD", nullptr,
     [](const ListingFacts& f) -> std::string { return f.config.nodes.size() > 1 ? "Yes" : "No"; }},
    {"NEXT_JOB_ID", nullptr,
     [](const ListingFacts& f) -> std::string { return std::to_string(f.next_job_id); }},
    {"NodeFeaturesPlugins", ""},
    {"OverTimeLimit", nullptr,
     [](const ListingFacts& f) -> std::string {
       const uint32_t minutes = f.config.partition_defaults.over_time_limit_minutes();
       return minutes == text::kUnlimited ? "UNLIMITED" : std::to_string(minutes) + " min";
     }},
    {"PluginDir", ""},
    {"PlugStackConfig", ""},
    {"PowerParameters", ""},
    {"PowerPlugin", ""},
    {"PreemptMode", nullptr,
     [](const ListingFacts& f) { return preempt_mode_name(f.config.preemption.mode); }},
    {"PurgeJobAfter", nullptr,  // listed where something is forgotten: Slurm has it in slurmdbd.conf
     [](const ListingFacts& f) -> std::string {
       constexpr int64_t kDay = 86400;
       return std::to_string((f.config.accounting.purge_jobs_after + kDay - 1) / kDay) + " days";
     }},
    {"PreemptType", nullptr,
     [](const ListingFacts& f) -> std::string {
       constexpr const char* kTypes[] = {"preempt/none", "preempt/qos", "preempt/partition_prio"};
       return kTypes[static_cast<size_t>(f.config.preemption.type)];
     }},
    {"PreemptExemptTime", "00:00:00"},
    {"PrEpParameters", ""},
    {"PrEpPlugins", "prep/script"},
    {"PriorityParameters", ""},
    {"PrioritySiteFactorParameters", ""},
    {"PrioritySiteFactorPlugin", ""},
    {"PriorityDecayHalfLife", nullptr,
     [](const ListingFacts& f) { return text::format_seconds(f.config.priority.half_life); }, true},
    {"PriorityCalcPeriod", nullptr,
     [](const ListingFacts& f) { return text::format_seconds(f.config.priority.calc_period); }, true},
    {"PriorityFavorSmall", nullptr,
     [](const ListingFacts& f) -> std::string {
       return f.config.priority.weights.favor_small ? "Yes" : "No";
     },
     true},
    {"PriorityFlags", nullptr,
     [](const ListingFacts& f) -> std::string { return f.config.priority.max_tres ? "MAX_TRES" : ""; }, true},
    {"PriorityMaxAge", nullptr,
     [](const ListingFacts& f) { return text::format_seconds(f.config.priority.weights.max_age); }, true},
    {"PriorityUsageResetPeriod", nullptr,
     [](const ListingFacts& f) { return usage_reset(f.config.priority.reset); }, true},
    {"PriorityType", nullptr,
     [](const ListingFacts& f) -> std::string {
       return f.config.priority.multifactor ? "priority/multifactor" : "priority/basic";
     }},
    {"PriorityWeightAge", nullptr, weight<&sched::PriorityWeights::age>, true},
    {"PriorityWeightAssoc", nullptr, weight<&sched::PriorityWeights::association>, true},
    {"PriorityWeightFairShare", nullptr, weight<&sched::PriorityWeights::fair_share>, true},
    {"PriorityWeightJobSize", nullptr, weight<&sched::PriorityWeights::job_size>, true},
    {"PriorityWeightPartition", nullptr, weight<&sched::PriorityWeights::partition>, true},
    {"PriorityWeightQOS", nullptr, weight<&sched::PriorityWeights::qos>, true},
    {"PriorityWeightTRES", nullptr, [](const ListingFacts& f) { return f.config.priority.tres_text; }, true},
    {"PrivateData", nullptr,
     [](const ListingFacts& f) -> std::string { return f.config.private_jobs ? "jobs" : "none"; }},
    {"ProctrackType", "proctrack/linuxproc"},
    {"Prolog", ""},
    {"PrologEpilogTimeout", "65534"},
    {"PrologSlurmctld", ""},
    {"PrologFlags", ""},
    {"PropagatePrioProcess", "0"},
    {"PropagateResourceLimits", "ALL"},
    {"PropagateResourceLimitsExcept", ""},
    {"RebootProgram", ""},
    {"ReconfigFlags", ""},
    {"RequeueExit", ""},
    {"RequeueExitHold", ""},
    {"ResumeFailProgram", ""},
    {"ResumeProgram", ""},
    {"ResumeRate", "300 nodes/min"},
    {"ResumeTimeout", "60 sec"},
    {"ResvEpilog", ""},
    {"ResvOverRun", "0 min"},
    {"ResvProlog", ""},
    {"ReturnToService", "2"},
    {"RoutePlugin", "route/default"},
    {"SchedulerParameters", nullptr,
     [](const ListingFacts& f) -> std::string {
       return f.config.prologs.hold_when_failed ? "" : "nohold_on_prolog_fail";
     }},
    {"SchedulerTimeSlice", "30 sec"},
    {"SchedulerType", "sched/backfill"},
    {"ScronParameters", nullptr,
     [](const ListingFacts& f) -> std::string {
       return f.config.cancel_cron_explicitly ? "enable,explicit_scancel" : "enable";
     }},
    {"SelectType", "select/cons_tres"},
    {"SelectTypeParameters", nullptr,
     [](const ListingFacts& f) -> std::string {
       return f.config.select_parameters.empty() ? "CR_CPU" : f.config.select_parameters;
     }},
    {"SlurmUser", nullptr,
     [](const ListingFacts& f) -> std::string { return f.user + "(" + std::to_string(f.uid) + ")"; }},
    {"SlurmctldAddr", ""},
    {"SlurmctldDebug", "info"},
    {"SlurmctldHost[0]", nullptr,
     [](const ListingFacts& f) -> std::string { return f.host + "(" + f.host + ")"; }},
    {"SlurmctldLogFile", nullptr,
     [](const ListingFacts& f) -> std::string { return f.config.home + "/minked.log"; }},
    {"SlurmctldPort", "0"},
    {"SlurmctldSyslogDebug", ""},
    {"SlurmctldPrimaryOffProg", ""},
    {"SlurmctldPrimaryOnProg", ""},
    {"SlurmctldTimeout", "0 sec"},
    {"SlurmctldParameters", ""},
    {"SlurmdDebug", "info"},
    {"SlurmdLogFile", nullptr,
     [](const ListingFacts& f) -> std::string { return f.config.home + "/launcher.log"; }},
    {"SlurmdParameters", ""},
    {"SlurmdPidFile", ""},
    {"SlurmdPort", "0"},
    {"SlurmdSpoolDir", nullptr,
     [](const ListingFacts& f) -> std::string { return f.config.home + "/spool"; }},
    {"SlurmdSyslogDebug", ""},
    {"SlurmdTimeout", "0 sec"},
    {"SlurmdUser", nullptr,
     [](const ListingFacts& f) -> std::string { return f.user + "(" + std::to_string(f.uid) + ")"; }},
    {"SlurmSchedLogFile", ""},
    {"SlurmSchedLogLevel", "0"},
    {"SlurmctldPidFile", ""},
    {"SlurmctldPlugstack", ""},
    {"SLURM_CONF", nullptr, [](const ListingFacts& f) -> std::string { return f.config.slurm_conf; }},
    {"SLURM_VERSION", nullptr,
     [](const ListingFacts&) -> std::string { return std::string(slurm_version(spoken_release())); }},
    {"SrunEpilog", ""},
    {"SrunPortRange", "0-0"},
    {"SrunProlog", ""},
    {"StateSaveLocation", nullptr, [](const ListingFacts& f) -> std::string { return f.config.home; }},
    {"SuspendExcNodes", ""},
    {"SuspendExcParts", ""},
    {"SuspendProgram", ""},
    {"SuspendRate", "60 nodes/min"},
    {"SuspendTime", "INFINITE"},
    {"SuspendTimeout", "30 sec"},
    {"SwitchParameters", ""},
    {"SwitchType", "switch/none"},
    {"TaskEpilog", ""},
    {"TaskPlugin", nullptr,
     [](const ListingFacts& f) -> std::string { return f.config.bind_cpus ? "task/affinity" : "task/none"; }},
    {"TaskPluginParam", "(null type)"},
    {"TaskProlog", ""},
    {"TCPTimeout", "2 sec"},
    {"TmpFS", nullptr, [](const ListingFacts& f) -> std::string { return f.config.tmp_root; }},
    {"TopologyParam", ""},
    {"TopologyPlugin", "topology/none"},
    {"TrackWCKey", nullptr,
     [](const ListingFacts& f) -> std::string { return f.config.accounting.track_wckey ? "Yes" : "No"; }},
    {"TreeWidth", "50"},
    {"UsePam", "No"},
    {"UnkillableStepProgram", ""},
    {"UnkillableStepTimeout", "60 sec"},
    {"VSizeFactor", "0 percent"},
    {"WaitTime", "0 sec"},
    {"X11Parameters", ""},
};

}  // namespace

std::vector<std::pair<std::string, std::string>> list_configuration(const ListingFacts& facts) {
  std::vector<std::pair<std::string, std::string>> list;
  for (const Parameter& parameter : kParameters) {
    if (parameter.multifactor && !facts.config.priority.multifactor) continue;
    std::string name = parameter.name;
    if (name == "PurgeJobAfter" && facts.config.accounting.purge_jobs_after == 0) continue;
    const model::PartitionRecord& all = facts.config.partition_defaults;
    if (name == "DefMemPerNode" && all.has_default_mem_per_cpu_mib()) name = "DefMemPerCPU";
    if (name == "MaxMemPerNode" && all.has_max_mem_per_cpu_mib()) name = "MaxMemPerCPU";
    if (is_prolog_parameter(name)) {
      list.emplace_back(name, prolog_parameter(facts.config.prologs, name));
      continue;
    }
    list.emplace_back(std::move(name),
                      parameter.compute != nullptr ? parameter.compute(facts) : parameter.value);
  }
  return list;
}

bool is_listed_parameter(std::string_view name) {
  return std::any_of(std::begin(kParameters), std::end(kParameters), [&](const Parameter& parameter) {
    return text::equals_ignoring_case(name, parameter.name);
  });
}

}  // namespace minke::config
