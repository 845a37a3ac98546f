// scontrol update partition: what of a partition can change, and which jobs it takes. Pure, but for looking
// up the groups of a user.

#include <algorithm>
#include <set>

#include "accounts/tres_weights.h"
#include "api/field.pb.h"
#include "engine/embedded/core.h"
#include "engine/embedded/nodes.h"
#include "engine/embedded/users.h"
#include "engine/embedded/word.h"
#include "model/error.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/memory.h"
#include "text/number.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr uint32_t kNoBound = 0xffffffff;

tl::unexpected<Error> invalid(const api::Field& field) {
  return failure("Invalid input " + field.name() + "=" + field.value(), kInvalidTres);
}

Result<bool> yes_or_no(const api::Field& field) {
  if (is(field.value(), "YES")) return true;
  if (is(field.value(), "NO")) return false;
  return invalid(field);
}

Result<uint32_t> count(const api::Field& field) {
  if (is(field.value(), "UNLIMITED") || is(field.value(), "INFINITE")) return kNoBound;
  const auto value = text::parse_unsigned(field.value(), 0xfffffffe);
  if (!value) return invalid(field);
  return static_cast<uint32_t>(*value);
}

// ALL, or nothing, is everybody.
void set_list(google::protobuf::RepeatedPtrField<std::string>* list, std::string_view value) {
  list->Clear();
  if (is(value, "ALL")) return;
  for (const std::string_view word : text::split(value, ',')) {
    if (!word.empty()) *list->Add() = word;
  }
}

Status set_nodes(PartitionRecord& partition, const std::string& value, const std::vector<NodeRecord>& nodes) {
  std::vector<std::string> members;
  if (is(value, "ALL")) {
    for (const NodeRecord& node : nodes) members.push_back(node.name());
  } else {
    auto expanded = text::expand_hostlist(value);
    if (!expanded) return failure(expanded.error().message, kInvalidNodeName);
    members = std::move(*expanded);
  }
  for (const std::string& member : members) {
    if (std::none_of(nodes.begin(), nodes.end(), [&](const auto& node) { return node.name() == member; }))
      return failure("there is no node " + member, kInvalidNodeName);
  }
  partition.set_nodes(text::compress_hostlist_sorted(members));
  return {};
}

bool has(const google::protobuf::RepeatedPtrField<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

template <typename Set>
Status set_flag(const api::Field& field, Set set) {
  const auto value = yes_or_no(field);
  if (!value) return failure(value.error());
  set(*value);
  return {};
}
template <typename Set>
Status set_count(const api::Field& field, Set set) {
  const auto value = count(field);
  if (!value) return failure(value.error());
  set(*value);
  return {};
}
template <typename Set>
Status set_minutes(const api::Field& field, Set set) {
  const auto value = text::parse_minutes(field.value());
  if (!value) return invalid(field);
  set(*value);
  return {};
}

}  // namespace

Status apply_partition_field(PartitionRecord& partition, const api::Field& field,
                             const std::vector<NodeRecord>& nodes) {
  const std::string& name = field.name();
  const std::string& value = field.value();
  if (is(name, "State")) {
    const std::string state = text::upper_case(value);
    if (state != "UP" && state != "DOWN" && state != "DRAIN" && state != "INACTIVE") return invalid(field);
    partition.set_state(state);
    return {};
  }
  if (is(name, "Nodes")) return set_nodes(partition, value, nodes);
  if (is(name, "MaxTime"))
    return set_minutes(
        field, [&](uint32_t minutes) { partition.set_max_time_minutes(minutes == 0 ? kNoBound : minutes); });
  if (is(name, "DefaultTime")) {
    if (is(value, "NONE")) {
      partition.clear_default_time_minutes();
      return {};
    }
    return set_minutes(field, [&](uint32_t minutes) { partition.set_default_time_minutes(minutes); });
  }
  if (is(name, "MaxNodes")) return set_count(field, [&](uint32_t most) { partition.set_max_nodes(most); });
  if (is(name, "MaxCPUsPerNode")) {
    if (value == "0") return invalid(field);  // for nobody: that is State=DOWN
    return set_count(field,
                     [&](uint32_t most) { partition.set_max_cpus_per_node(most == kNoBound ? 0 : most); });
  }
  if (is(name, "ExclusiveUser")) return set_flag(field, [&](bool yes) { partition.set_exclusive_user(yes); });
  if (is(name, "QoS")) {
    partition.set_qos(text::lower_case(value));
    return {};
  }
  if (is(name, "MinNodes")) return set_count(field, [&](uint32_t least) { partition.set_min_nodes(least); });
  if (is(name, "Default")) return set_flag(field, [&](bool yes) { partition.set_is_default(yes); });
  if (is(name, "Hidden")) return set_flag(field, [&](bool yes) { partition.set_hidden(yes); });
  if (is(name, "RootOnly")) return set_flag(field, [&](bool yes) { partition.set_root_only(yes); });
  if (is(name, "DisableRootJobs"))
    return set_flag(field, [&](bool yes) { partition.set_disable_root_jobs(yes); });
  if (is(name, "ReqResv")) return set_flag(field, [&](bool yes) { partition.set_reservation_required(yes); });
  // "Priority" is the older name of both.
  if (is(name, "PriorityTier") || is(name, "PriorityJobFactor") || is(name, "Priority") ||
      is(name, "GraceTime")) {
    const auto number = text::parse_unsigned(value, is(name, "GraceTime") ? 0xfffffffe : 65533);
    if (!number) return invalid(field);
    const auto small = static_cast<uint32_t>(*number);
    if (is(name, "PriorityTier") || is(name, "Priority")) partition.set_priority_tier(small);
    if (is(name, "PriorityJobFactor") || is(name, "Priority")) partition.set_priority_job_factor(small);
    if (is(name, "GraceTime")) partition.set_grace_time_seconds(small);
    return {};
  }
  if (is(name, "PreemptMode")) {
    const std::string mode = text::upper_case(value);
    if (mode != "OFF" && mode != "CANCEL" && mode != "REQUEUE" && mode != "SUSPEND")
      return failure("PreemptMode=" + value + ": OFF, CANCEL, REQUEUE or SUSPEND", kInvalidTres);
    partition.set_preempt_mode(mode);
    return {};
  }
  if (is(name, "OverSubscribe") || is(name, "Shared")) {
    if (!is(value, "NO") && !is(value, "EXCLUSIVE"))
      return failure("OverSubscribe=" + value + ": processors belong to one job; NO or EXCLUSIVE",
                     kNotSupported);
    partition.set_exclusive(is(value, "EXCLUSIVE"));
    partition.set_oversubscribe(text::upper_case(value));
    return {};
  }
  if (is(name, "DefMemPerCPU") || is(name, "DefMemPerNode")) {
    std::optional<uint64_t> mib;
    if (!is(value, "UNLIMITED")) {
      const auto given = text::parse_mib(value);
      if (!given) return invalid(field);
      if (*given != 0) mib = *given;
    }
    partition.clear_default_mem_per_cpu_mib();
    partition.clear_default_mem_per_node_mib();
    if (mib && is(name, "DefMemPerCPU")) partition.set_default_mem_per_cpu_mib(*mib);
    if (mib && is(name, "DefMemPerNode")) partition.set_default_mem_per_node_mib(*mib);
    return {};
  }
  if (is(name, "MaxMemPerCPU") || is(name, "MaxMemPerNode")) {
    std::optional<uint64_t> mib;
    if (!is(value, "UNLIMITED")) {
      const auto given = text::parse_mib(value);
      if (!given) return invalid(field);
      if (*given != 0) mib = *given;
    }
    partition.clear_max_mem_per_cpu_mib();
    partition.clear_max_mem_per_node_mib();
    if (mib && is(name, "MaxMemPerCPU")) partition.set_max_mem_per_cpu_mib(*mib);
    if (mib && is(name, "MaxMemPerNode")) partition.set_max_mem_per_node_mib(*mib);
    return {};
  }
  if (is(name, "OverTimeLimit")) {
    if (is(value, "NONE")) {
      partition.clear_over_time_limit_minutes();
      return {};
    }
    return set_count(field, [&](uint32_t minutes) { partition.set_over_time_limit_minutes(minutes); });
  }
  if (is(name, "TRESBillingWeights")) {
    if (!value.empty() && !accounts::parse_tres_weights(value)) return invalid(field);
    partition.set_billing_weights(value);
    return {};
  }
  for (const auto& [known, list] : {std::pair{"AllowAccounts", partition.mutable_allow_accounts()},
                                    std::pair{"DenyAccounts", partition.mutable_deny_accounts()},
                                    std::pair{"AllowQos", partition.mutable_allow_qos()},
                                    std::pair{"DenyQos", partition.mutable_deny_qos()},
                                    std::pair{"AllowGroups", partition.mutable_allow_groups()}}) {
    if (!is(name, known)) continue;
    set_list(list, value);
    return {};
  }
  return failure("a partition's " + name + " cannot be changed here", kNotSupported);
}

namespace {

Status admits(const PartitionRecord& partition, const JobSpec& spec, uint32_t uid) {
  if (partition.state() == "DRAIN" || partition.state() == "INACTIVE")
    return failure("partition " + partition.name() + " takes no jobs", kPartitionNotAvailable);
  if ((partition.root_only() && uid != 0) || (partition.disable_root_jobs() && uid == 0) ||
      (partition.reservation_required() && spec.reservation().empty()))
    return failure("partition " + partition.name() + " takes no such job", kAccessDenied);
  if (!partition.allow_groups().empty() && uid != 0 && !is_in_group(uid, partition.allow_groups()))
    return failure("partition " + partition.name() + " is for some groups only", kPartitionGroup);
  if (partition.has_max_mem_per_node_mib() && spec.mem_per_node_mib() > partition.max_mem_per_node_mib())
    return failure("partition " + partition.name() + " allows " +
                       text::format_mib(partition.max_mem_per_node_mib()) + " of memory on a node",
                   kInvalidTaskMemory);
  const auto refused = [](const auto& allowed, const auto& denied, const std::string& word) {
    if (!allowed.empty()) return !has(allowed, word);
    return has(denied, word);
  };
  if (refused(partition.allow_accounts(), partition.deny_accounts(), spec.account()))
    return failure("partition " + partition.name() + " is not for account " + spec.account(),
                   kInvalidAccount);
  if (refused(partition.allow_qos(), partition.deny_qos(), spec.qos().empty() ? "normal" : spec.qos()))
    return failure("partition " + partition.name() + " is not for this QOS", kInvalidQos);
  return {};
}

// Who asks for more memory for each CPU than the partition allows gets more CPUs, as many as make up for it.
void spread_memory(const PartitionRecord& partition, JobSpec& spec) {
  const uint64_t most = partition.max_mem_per_cpu_mib();
  if (most == 0 || spec.mem_per_cpu_mib() <= most) return;
  const uint64_t times = (spec.mem_per_cpu_mib() + most - 1) / most;
  spec.set_mem_per_cpu_mib((spec.mem_per_cpu_mib() + times - 1) / times);
  spec.set_cpus_per_task(static_cast<uint32_t>(
      std::min<uint64_t>(std::max<uint32_t>(1, spec.cpus_per_task()) * times, kNoBound - 1)));
}

}  // namespace

Status Nodes::choose_partitions(JobSpec& spec, uint32_t uid) const {
  if (spec.partition() == "default" && find_partition("default") == nullptr) spec.clear_partition();
  if (spec.partition().empty() && !core_.config.serves.empty()) {
    spec.set_partition(route(spec));
    if (spec.partition().empty())
      return failure("no partition takes such a job for so long unless it is named", kInvalidTimeLimit);
  }
  std::string admitting;
  Status first;
  for (const std::string& name : make_submission(0, spec, default_partition().name()).partitions) {
    const PartitionRecord* partition = find_partition(name);
    if (partition == nullptr) return failure("there is no partition " + name, kInvalidPartitionName);
    const Status admitted = admits(*partition, spec, uid);
    if (admitted) {
      admitting += (admitting.empty() ? "" : ",") + name;
    } else if (first) {
      first = admitted;
    }
  }
  if (admitting.empty()) return first;
  if (const PartitionRecord* only = find_partition(admitting); only != nullptr) spread_memory(*only, spec);
  spec.set_partition(admitting);
  return {};
}

}  // namespace minke::engine
