#include "config/parameters.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "accounts/tres_weights.h"
#include "api/field.pb.h"
#include "config/listing.h"
#include "config/partition_fields.h"
#include "model/cluster.pb.h"
#include "text/duration.h"
#include "text/licenses.h"
#include "text/number.h"
#include "text/word.h"

namespace minke::config {
namespace {

using Value = const std::string&;

// ---- values ---------------------------------------------------------------------------------------

template <typename Target>
Status number(Value value, uint64_t least, uint64_t most, Target& target) {
  const auto parsed = text::parse_unsigned(value, most);
  if (!parsed || *parsed < least)
    return failure("must be a number from " + std::to_string(least) + " to " + std::to_string(most));
  target = static_cast<Target>(*parsed);
  return {};
}

Status flag(Value value, bool& target) {
  const bool yes = text::is(value, "YES") || text::is(value, "TRUE") || text::is(value, "UP") || value == "1";
  if (!yes && !text::is(value, "NO") && !text::is(value, "FALSE") && !text::is(value, "DOWN") && value != "0")
    return failure("must be YES or NO");
  target = yes;
  return {};
}

// Reads a time, in which a plain number is minutes; returns seconds.
Status time(Value value, int64_t& seconds) {
  const auto minutes = text::parse_minutes(value);
  if (!minutes) return failure(minutes.error());
  if (*minutes == text::kUnlimited) return failure("must be a time");
  seconds = int64_t{*minutes} * 60;
  return {};
}

template <typename Use>
Status each_word(Value value, Use use) {
  for (const std::string_view word : text::split(value, ',')) {
    if (text::trim(word).empty()) continue;
    if (const Status used = use(text::lower_case(text::trim(word))); !used) return used;
  }
  return {};
}

// ---- parameters -----------------------------------------------------------------------------------

template <uint32_t sched::PriorityWeights::*kWeight>
Status weight(Configuration& config, Value value) {
  return number(value, 0, 0xfffffffe, config.priority.weights.*kWeight);
}

template <uint32_t Configuration::*kNumber, uint32_t kLeast, uint32_t kMost>
Status whole(Configuration& config, Value value) {
  return number(value, kLeast, kMost, config.*kNumber);
}

// Sets a default of all partitions.
Status of_partitions(Configuration& config, const char* name, Value value) {
  api::Field field;
  field.set_name(name);
  field.set_value(value);
  return apply_partition_field(config.partition_defaults, field, config.nodes);
}

Status set_enforcement(Configuration& config, Value value) {
  AccountingPolicy& policy = config.accounting;
  policy.associations = policy.limits = policy.qos = policy.safe = false;
  return each_word(value, [&](const std::string& word) -> Status {
    if (word == "none" || word == "0" || word == "nojobs" || word == "nosteps" || word == "wckeys") return {};
    if (word == "all" || word == "1") {
      policy.associations = policy.limits = policy.qos = policy.safe = true;
      return {};
    }
    return enforce(word, policy);
  });
}

Status set_preempt_type(Configuration& config, Value value) {
  const std::string type = text::lower_case(value);
  if (type == "preempt/none") {
    config.preemption.type = PreemptType::kNone;
  } else if (type == "preempt/qos") {
    config.preemption.type = PreemptType::kQos;
  } else if (type == "preempt/partition_prio") {
    config.preemption.type = PreemptType::kPartition;
  } else {
    return failure("must be preempt/none, preempt/qos or preempt/partition_prio");
  }
  return {};
}

Status set_preempt_mode(Configuration& config, Value value) {
  const auto mode = parse_preempt_mode(preempt_mode_without_gang(value));
  if (!mode) return failure("must be OFF, CANCEL, REQUEUE or SUSPEND");
  config.preemption.mode = *mode;
  return {};
}

Status set_usage_reset(Configuration& config, Value value) {
  constexpr std::array<std::string_view, 7> kWords = {"none",      "daily",  "weekly", "monthly",
                                                      "quarterly", "yearly", "now"};
  const auto* found = std::find(kWords.begin(), kWords.end(), text::lower_case(value));
  if (found == kWords.end() || *found == "now")
    return failure("must be NONE, DAILY, WEEKLY, MONTHLY, QUARTERLY or YEARLY");
  config.priority.reset = static_cast<UsageReset>(found - kWords.begin());
  return {};
}

Status set_accounted_tres(Configuration& config, Value value) {
  for (const std::string_view given : text::split(value, ',')) {
    const std::string tres(text::trim(given));
    if (!tres.empty()) config.accounting.tres.push_back(tres);
  }
  return {};
}

Status set_licenses(Configuration& config, Value value) {
  auto licenses = text::parse_licenses(value);
  if (!licenses) return failure(licenses.error());
  config.licenses = std::move(*licenses);
  return {};
}

}  // namespace

Status set_select_parameters(Configuration& config, Value value) {
  std::string words = text::upper_case(value);
  for (const std::string_view word : text::split(words, ',')) {
    if (!text::trim(word).starts_with("CR_") && !text::trim(word).starts_with("LL_"))
      return failure("must be words as CR_Core_Memory");
  }
  config.select_parameters = std::move(words);
  return {};
}

namespace {

struct Parameter {
  std::string_view name;
  Status (*set)(Configuration& config, Value value);
};

constexpr Parameter kUsed[] = {
    {"AccountingStorageEnforce", set_enforcement},
    {"AccountingStorageTRES", set_accounted_tres},
    {"ClusterName",
     [](Configuration& config, Value value) -> Status {
       if (value.empty()) return failure("must be a name");
       config.cluster_name = text::lower_case(value);
       return {};
     }},
    {"DefCpuPerGPU", [](Configuration& c, Value v) { return of_partitions(c, "DefCpuPerGPU", v); }},
    {"DefMemPerCPU", [](Configuration& c, Value v) { return of_partitions(c, "DefMemPerCPU", v); }},
    {"DefMemPerGPU", [](Configuration& c, Value v) { return of_partitions(c, "DefMemPerGPU", v); }},
    {"DefMemPerNode", [](Configuration& c, Value v) { return of_partitions(c, "DefMemPerNode", v); }},
    {"DisableRootJobs", [](Configuration& c, Value v) { return of_partitions(c, "DisableRootJobs", v); }},
    {"EnforcePartLimits",
     [](Configuration& config, Value value) -> Status {
       const auto limits = parse_part_limits(value);
       if (!limits) return failure("must be ALL, ANY or NO");
       config.part_limits = *limits;
       return {};
     }},
    {"FirstJobId", whole<&Configuration::first_job_id, 1, 0x03ffffff>},
    {"JobAcctGatherFrequency",
     [](Configuration& config, Value value) {
       const size_t task = value.find("task=");
       const std::string seconds = task == std::string::npos ? value : value.substr(task + 5);
       return number(seconds.substr(0, seconds.find(',')), 0, 3600, config.measuring_interval);
     }},
    {"JobRequeue", [](Configuration& config, Value value) { return flag(value, config.requeue_by_default); }},
    {"KillWait", whole<&Configuration::kill_wait_seconds, 0, 65533>},
    {"Licenses", set_licenses},
    {"MailDomain",
     [](Configuration& config, Value value) -> Status {
       config.mail_domain = value;
       if (config.mail) config.mail->settings.set_domain(value);
       return {};
     }},
    {"MailProg",
     [](Configuration& config, Value value) -> Status {
       if (!value.starts_with('/')) return failure("must be an absolute path");
       if (!config.mail) config.mail.emplace();
       config.mail->settings.set_mail_program(value);
       config.mail->settings.set_domain(config.mail_domain);
       return {};
     }},
    {"MaxArraySize", whole<&Configuration::max_array_size, 0, 4000002>},
    {"MaxJobCount", whole<&Configuration::max_job_count, 1, 100000000>},
    {"MaxMemPerCPU", [](Configuration& c, Value v) { return of_partitions(c, "MaxMemPerCPU", v); }},
    {"MaxMemPerNode", [](Configuration& c, Value v) { return of_partitions(c, "MaxMemPerNode", v); }},
    {"MinJobAge", whole<&Configuration::min_job_age_seconds, 2, 1U << 30>},
    {"MpiDefault",
     [](Configuration& config, Value value) -> Status {
       if (value != "auto" && value != "none" && value != "pmi2" && !value.starts_with("pmix"))
         return failure("must be none, pmi2 or pmix");
       config.mpi_default = value.starts_with("pmix") ? "pmix" : value;
       return {};
     }},
    {"OverTimeLimit", [](Configuration& c, Value v) { return of_partitions(c, "OverTimeLimit", v); }},
    {"PreemptMode", set_preempt_mode},
    {"PreemptType", set_preempt_type},
    {"PriorityCalcPeriod",
     [](Configuration& config, Value value) { return time(value, config.priority.calc_period); }},
    {"PriorityDecayHalfLife",
     [](Configuration& config, Value value) { return time(value, config.priority.half_life); }},
    {"PriorityFavorSmall",
     [](Configuration& config, Value value) { return flag(value, config.priority.weights.favor_small); }},
    {"PriorityMaxAge",
     [](Configuration& config, Value value) -> Status {
       if (const Status read = time(value, config.priority.weights.max_age); !read) return read;
       if (config.priority.weights.max_age == 0) return failure("must be longer than that");
       return {};
     }},
    {"PriorityType",
     [](Configuration& config, Value value) -> Status {
       if (!text::is(value, "priority/basic") && !text::is(value, "priority/multifactor"))
         return failure("must be priority/basic or priority/multifactor");
       config.priority.multifactor = text::is(value, "priority/multifactor");
       return {};
     }},
    {"PriorityUsageResetPeriod", set_usage_reset},
    {"PriorityWeightAge", weight<&sched::PriorityWeights::age>},
    {"PriorityWeightAssoc", weight<&sched::PriorityWeights::association>},
    {"PriorityWeightFairshare", weight<&sched::PriorityWeights::fair_share>},
    {"PriorityWeightJobSize", weight<&sched::PriorityWeights::job_size>},
    {"PriorityWeightPartition", weight<&sched::PriorityWeights::partition>},
    {"PriorityWeightQOS", weight<&sched::PriorityWeights::qos>},
    {"PriorityWeightTRES",
     [](Configuration& config, Value value) -> Status {
       auto weights = accounts::parse_tres_weights(value);
       if (!weights) return failure(weights.error());
       config.priority.tres = std::move(*weights);
       config.priority.tres_text = value;
       return {};
     }},
    {"PrivateData",
     [](Configuration& config, Value value) {
       config.private_jobs = false;
       return each_word(value, [&](const std::string& word) -> Status {
         config.private_jobs |= word == "jobs" || word == "all";
         return {};
       });
     }},
    {"SelectType",
     [](Configuration& config, Value value) -> Status {
       if (!text::is(value, "select/linear")) return {};
       return of_partitions(config, "OverSubscribe", "EXCLUSIVE");
     }},
    {"SelectTypeParameters", set_select_parameters},
    {"TaskPlugin",
     [](Configuration& config, Value value) -> Status {
       const std::string plugins = text::lower_case(value);
       config.bind_cpus =
           plugins.find("affinity") != std::string::npos || plugins.find("cgroup") != std::string::npos;
       return {};
     }},
    {"TrackWCKey",
     [](Configuration& config, Value value) { return flag(value, config.accounting.track_wckey); }},
};

// The parameters that Slurm knows, from 20.11 to 25.11, beside those that `scontrol show config` lists here.
constexpr std::string_view kKnown[] = {"AccountingStorageLoc",
                                       "AccountingStoragePass",
                                       "AcctGatherInfinibandType",
                                       "AuthAltParameters",
                                       "BackupAddr",
                                       "BackupController",
                                       "CertgenParameters",
                                       "CertgenType",
                                       "CertmgrParameters",
                                       "CertmgrType",
                                       "CheckpointType",
                                       "ControlAddr",
                                       "ControlMachine",
                                       "CryptoType",
                                       "DataParserParameters",
                                       "EpilogTimeout",
                                       "FastSchedule",
                                       "HashPlugin",
                                       "HttpParserType",
                                       "JobCheckpointDir",
                                       "JobCompParams",
                                       "JobCompPass",
                                       "JobCompPassScript",
                                       "JobCredentialPublicKey",
                                       "MaxBatchRequeue",
                                       "MemLimitEnforce",
                                       "MetricsType",
                                       "NamespaceType",
                                       "PreemptParameters",
                                       "PrologTimeout",
                                       "SallocDefaultCommand",
                                       "SbcastParameters",
                                       "SchedulerAuth",
                                       "SchedulerPort",
                                       "SchedulerRootFilter",
                                       "SlurmctldHost",
                                       "SlurmdSyslogDebug",
                                       "SuspendExcStates",
                                       "TLSParameters",
                                       "TLSType",
                                       "UrlParserType"};

}  // namespace

std::string preempt_mode_without_gang(std::string_view value) {
  std::string modes;
  for (const std::string_view word : text::split(value, ',')) {
    if (text::is(text::trim(word), "GANG")) continue;
    modes.append(modes.empty() ? "" : ",").append(text::trim(word));
  }
  return modes;
}

constexpr std::string_view kInteractiveStep = "use_interactive_step";

Result<bool> set_parameter(Configuration& config, const std::string& name, const std::string& value) {
  const auto* const used = std::find_if(std::begin(kUsed), std::end(kUsed), [&](const Parameter& parameter) {
    return text::is(name, parameter.name);
  });
  if (used != std::end(kUsed)) {
    // GANG alone lets jobs take turns, which nothing does here; it preempts none.
    if (text::is(name, "PreemptMode") && preempt_mode_without_gang(value).empty()) return false;
    if (const Status set = used->set(config, value); !set) return failure(set.error());
    return true;
  }
  if (is_prolog_parameter(name)) return set_prolog_parameter(config.prologs, name, value, config.shared);
  if (text::is(name, "SchedulerParameters")) {
    constexpr std::string_view kNoHold = "nohold_on_prolog_fail";
    config.prologs.hold_when_failed = true;
    bool others = false;
    for (const std::string_view word : text::split(value, ',')) {
      if (text::is(text::trim(word), kNoHold)) {
        config.prologs.hold_when_failed = false;
      } else if (!text::trim(word).empty()) {
        others = true;
      }
    }
    return !others;
  }
  if (text::is(name, "ScronParameters")) {
    config.cancel_cron_explicitly = text::lower_case(value).find("explicit_scancel") != std::string::npos;
    return true;
  }
  if (text::is(name, "LaunchParameters")) {
    config.interactive_step = false;
    bool others = false;
    for (const std::string_view word : text::split(value, ',')) {
      const bool step = text::is(text::trim(word), kInteractiveStep);
      config.interactive_step |= step;
      others |= !step && !text::trim(word).empty();
    }
    return !others;
  }
  if (text::is(name, "PriorityFlags")) {
    config.priority.max_tres = text::upper_case(value).find("MAX_TRES") != std::string::npos;
    return text::is(value, "MAX_TRES") || text::is(value, "FAIR_TREE");
  }
  const bool known = is_listed_parameter(name) ||
                     std::any_of(std::begin(kKnown), std::end(kKnown),
                                 [&](std::string_view parameter) { return text::is(name, parameter); });
  if (!known) return failure("no parameter of slurm.conf");
  return false;
}

void give_whole_memory(Configuration& config) {
  if (config.select_parameters.find("_MEMORY") == std::string::npos) return;
  for (model::PartitionRecord& partition : config.partitions) {
    if (!partition.has_default_mem_per_cpu_mib() && !partition.has_default_mem_per_node_mib())
      partition.set_default_mem_per_node_mib(0);
  }
}

void inherit_partition_defaults(Configuration& config) {
  const model::PartitionRecord& all = config.partition_defaults;
  for (model::PartitionRecord& partition : config.partitions) {
    if (all.has_over_time_limit_minutes() && !partition.has_over_time_limit_minutes())
      partition.set_over_time_limit_minutes(all.over_time_limit_minutes());
    if (!partition.has_default_mem_per_cpu_mib() && !partition.has_default_mem_per_node_mib()) {
      if (all.has_default_mem_per_cpu_mib())
        partition.set_default_mem_per_cpu_mib(all.default_mem_per_cpu_mib());
      if (all.has_default_mem_per_node_mib())
        partition.set_default_mem_per_node_mib(all.default_mem_per_node_mib());
    }
    if (all.has_default_cpus_per_gpu() && !partition.has_default_cpus_per_gpu())
      partition.set_default_cpus_per_gpu(all.default_cpus_per_gpu());
    if (all.has_default_mem_per_gpu_mib() && !partition.has_default_mem_per_gpu_mib())
      partition.set_default_mem_per_gpu_mib(all.default_mem_per_gpu_mib());
    if (!partition.has_max_mem_per_cpu_mib() && !partition.has_max_mem_per_node_mib()) {
      if (all.has_max_mem_per_cpu_mib()) partition.set_max_mem_per_cpu_mib(all.max_mem_per_cpu_mib());
      if (all.has_max_mem_per_node_mib()) partition.set_max_mem_per_node_mib(all.max_mem_per_node_mib());
    }
    partition.set_disable_root_jobs(partition.disable_root_jobs() || all.disable_root_jobs());
    if (all.exclusive()) {
      partition.set_exclusive(true);
      partition.set_oversubscribe(all.oversubscribe());
    }
  }
}

}  // namespace minke::config
