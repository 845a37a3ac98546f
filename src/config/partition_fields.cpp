#include "config/partition_fields.h"

#include <algorithm>
#include <set>

#include "accounts/tres_weights.h"
#include "api/field.pb.h"
#include "model/cluster.pb.h"
#include "model/error.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/memory.h"
#include "text/number.h"
#include "text/word.h"

namespace minke::config {

using namespace model;

namespace {

constexpr uint32_t kNoBound = 0xffffffff;

tl::unexpected<Error> invalid(const api::Field& field) {
  return failure("Invalid input " + field.name() + "=" + field.value(), kInvalidTres);
}

Result<bool> yes_or_no(const api::Field& field) {
  if (text::is(field.value(), "YES")) return true;
  if (text::is(field.value(), "NO")) return false;
  return invalid(field);
}

Result<uint32_t> count(const api::Field& field) {
  if (text::is(field.value(), "UNLIMITED") || text::is(field.value(), "INFINITE")) return kNoBound;
  const auto value = text::parse_unsigned(field.value(), 0xfffffffe);
  if (!value) return invalid(field);
  return static_cast<uint32_t>(*value);
}

// ALL, or nothing, is everybody.
void set_list(google::protobuf::RepeatedPtrField<std::string>* list, std::string_view value) {
  list->Clear();
  if (text::is(value, "ALL")) return;
  for (const std::string_view word : text::split(value, ',')) {
    if (!word.empty()) *list->Add() = word;
  }
}

Status set_nodes(PartitionRecord& partition, const std::string& value, const std::vector<NodeRecord>& nodes) {
  std::vector<std::string> members;
  if (text::is(value, "ALL")) {
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
  if (text::is(name, "State")) {
    const std::string state = text::upper_case(value);
    if (state != "UP" && state != "DOWN" && state != "DRAIN" && state != "INACTIVE") return invalid(field);
    partition.set_state(state);
    return {};
  }
  if (text::is(name, "Nodes")) return set_nodes(partition, value, nodes);
  if (text::is(name, "MaxTime"))
    return set_minutes(
        field, [&](uint32_t minutes) { partition.set_max_time_minutes(minutes == 0 ? kNoBound : minutes); });
  if (text::is(name, "DefaultTime")) {
    if (text::is(value, "NONE")) {
      partition.clear_default_time_minutes();
      return {};
    }
    return set_minutes(field, [&](uint32_t minutes) { partition.set_default_time_minutes(minutes); });
  }
  if (text::is(name, "MaxNodes"))
    return set_count(field, [&](uint32_t most) { partition.set_max_nodes(most); });
  if (text::is(name, "MaxCPUsPerNode")) {
    if (value == "0") return invalid(field);  // for nobody: that is State=DOWN
    return set_count(field,
                     [&](uint32_t most) { partition.set_max_cpus_per_node(most == kNoBound ? 0 : most); });
  }
  if (text::is(name, "ExclusiveUser"))
    return set_flag(field, [&](bool yes) { partition.set_exclusive_user(yes); });
  if (text::is(name, "QoS")) {
    partition.set_qos(text::lower_case(value));
    return {};
  }
  if (text::is(name, "MinNodes"))
    return set_count(field, [&](uint32_t least) { partition.set_min_nodes(least); });
  if (text::is(name, "Default")) return set_flag(field, [&](bool yes) { partition.set_is_default(yes); });
  if (text::is(name, "Hidden")) return set_flag(field, [&](bool yes) { partition.set_hidden(yes); });
  if (text::is(name, "RootOnly")) return set_flag(field, [&](bool yes) { partition.set_root_only(yes); });
  if (text::is(name, "DisableRootJobs"))
    return set_flag(field, [&](bool yes) { partition.set_disable_root_jobs(yes); });
  if (text::is(name, "ReqResv"))
    return set_flag(field, [&](bool yes) { partition.set_reservation_required(yes); });
  // "Priority" is the older name of both.
  if (text::is(name, "PriorityTier") || text::is(name, "PriorityJobFactor") || text::is(name, "Priority") ||
      text::is(name, "GraceTime")) {
    const auto number = text::parse_unsigned(value, text::is(name, "GraceTime") ? 0xfffffffe : 65533);
    if (!number) return invalid(field);
    const auto small = static_cast<uint32_t>(*number);
    if (text::is(name, "PriorityTier") || text::is(name, "Priority")) partition.set_priority_tier(small);
    if (text::is(name, "PriorityJobFactor") || text::is(name, "Priority"))
      partition.set_priority_job_factor(small);
    if (text::is(name, "GraceTime")) partition.set_grace_time_seconds(small);
    return {};
  }
  if (text::is(name, "PreemptMode")) {
    const std::string mode = text::upper_case(value);
    if (mode != "OFF" && mode != "CANCEL" && mode != "REQUEUE" && mode != "SUSPEND")
      return failure("PreemptMode=" + value + ": OFF, CANCEL, REQUEUE or SUSPEND", kInvalidTres);
    partition.set_preempt_mode(mode);
    return {};
  }
  if (text::is(name, "OverSubscribe") || text::is(name, "Shared")) {
    if (!text::is(value, "NO") && !text::is(value, "EXCLUSIVE"))
      return failure("OverSubscribe=" + value + ": processors belong to one job; NO or EXCLUSIVE",
                     kNotSupported);
    partition.set_exclusive(text::is(value, "EXCLUSIVE"));
    partition.set_oversubscribe(text::upper_case(value));
    return {};
  }
  if (text::is(name, "DefMemPerCPU") || text::is(name, "DefMemPerNode")) {
    std::optional<uint64_t> mib;
    if (!text::is(value, "UNLIMITED")) {
      const auto given = text::parse_mib(value);
      if (!given) return invalid(field);
      if (*given != 0) mib = *given;
    }
    partition.clear_default_mem_per_cpu_mib();
    partition.clear_default_mem_per_node_mib();
    if (mib && text::is(name, "DefMemPerCPU")) partition.set_default_mem_per_cpu_mib(*mib);
    if (mib && text::is(name, "DefMemPerNode")) partition.set_default_mem_per_node_mib(*mib);
    return {};
  }
  if (text::is(name, "MaxMemPerCPU") || text::is(name, "MaxMemPerNode")) {
    std::optional<uint64_t> mib;
    if (!text::is(value, "UNLIMITED")) {
      const auto given = text::parse_mib(value);
      if (!given) return invalid(field);
      if (*given != 0) mib = *given;
    }
    partition.clear_max_mem_per_cpu_mib();
    partition.clear_max_mem_per_node_mib();
    if (mib && text::is(name, "MaxMemPerCPU")) partition.set_max_mem_per_cpu_mib(*mib);
    if (mib && text::is(name, "MaxMemPerNode")) partition.set_max_mem_per_node_mib(*mib);
    return {};
  }
  if (text::is(name, "OverTimeLimit")) {
    if (text::is(value, "NONE")) {
      partition.clear_over_time_limit_minutes();
      return {};
    }
    return set_count(field, [&](uint32_t minutes) { partition.set_over_time_limit_minutes(minutes); });
  }
  if (text::is(name, "TRESBillingWeights")) {
    if (!value.empty() && !accounts::parse_tres_weights(value)) return invalid(field);
    partition.set_billing_weights(value);
    return {};
  }
  for (const auto& [known, list] : {std::pair{"AllowAccounts", partition.mutable_allow_accounts()},
                                    std::pair{"DenyAccounts", partition.mutable_deny_accounts()},
                                    std::pair{"AllowQos", partition.mutable_allow_qos()},
                                    std::pair{"DenyQos", partition.mutable_deny_qos()},
                                    std::pair{"AllowGroups", partition.mutable_allow_groups()}}) {
    if (!text::is(name, known)) continue;
    set_list(list, value);
    return {};
  }
  return failure("a partition's " + name + " cannot be changed here", kNotSupported);
}

}  // namespace minke::config
