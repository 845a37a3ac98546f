#include "config/partition_fields.h"

#include <algorithm>

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

Result<uint32_t> count(const api::Field& field) {
  if (text::is(field.value(), "UNLIMITED") || text::is(field.value(), "INFINITE")) return kNoBound;
  const auto value = text::parse_unsigned(field.value(), 0xfffffffe);
  if (!value) return invalid(field);
  return static_cast<uint32_t>(*value);
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

// One function for each kind of value. It takes the record's setter as its argument, so that the table below
// has one row for each field.
using Setter = Status (*)(PartitionRecord&, const api::Field&);

template <void (PartitionRecord::*kSet)(bool)>
Status set_flag(PartitionRecord& partition, const api::Field& field) {
  if (!text::is(field.value(), "YES") && !text::is(field.value(), "NO")) return invalid(field);
  (partition.*kSet)(text::is(field.value(), "YES"));
  return {};
}

template <void (PartitionRecord::*kSet)(uint32_t)>
Status set_count(PartitionRecord& partition, const api::Field& field) {
  const auto value = count(field);
  if (!value) return failure(value.error());
  (partition.*kSet)(*value);
  return {};
}

template <uint32_t kMost, void (PartitionRecord::*... kSet)(uint32_t)>
Status set_number(PartitionRecord& partition, const api::Field& field) {
  const auto value = text::parse_unsigned(field.value(), kMost);
  if (!value) return invalid(field);
  ((partition.*kSet)(static_cast<uint32_t>(*value)), ...);
  return {};
}

// ALL, or an empty value, means everybody.
template <google::protobuf::RepeatedPtrField<std::string>* (PartitionRecord::*kList)()>
Status set_list(PartitionRecord& partition, const api::Field& field) {
  auto& list = *(partition.*kList)();
  list.Clear();
  if (text::is(field.value(), "ALL")) return {};
  for (const std::string_view word : text::split(field.value(), ',')) {
    if (!word.empty()) *list.Add() = word;
  }
  return {};
}

// At most one of a bound by CPU and a bound by node is set.
template <void (PartitionRecord::*kSet)(uint64_t), void (PartitionRecord::*... kClear)()>
Status set_memory(PartitionRecord& partition, const api::Field& field) {
  const bool unlimited = text::is(field.value(), "UNLIMITED");
  const auto mib = unlimited ? uint64_t{0} : text::parse_mib(field.value());
  if (!mib) return invalid(field);
  ((partition.*kClear)(), ...);
  if (*mib != 0) (partition.*kSet)(*mib);
  return {};
}

template <void (PartitionRecord::*kClear)(), void (PartitionRecord::*kSet)(uint32_t)>
Status set_default_count(PartitionRecord& partition, const api::Field& field) {
  if (text::is(field.value(), "UNLIMITED") || field.value() == "0") {
    (partition.*kClear)();
    return {};
  }
  return set_number<65536, kSet>(partition, field);
}

Status set_state(PartitionRecord& partition, const api::Field& field) {
  const std::string state = text::upper_case(field.value());
  if (state != "UP" && state != "DOWN" && state != "DRAIN" && state != "INACTIVE") return invalid(field);
  partition.set_state(state);
  return {};
}

Status set_max_time(PartitionRecord& partition, const api::Field& field) {
  const auto minutes = text::parse_minutes(field.value());
  if (!minutes) return invalid(field);
  partition.set_max_time_minutes(*minutes == 0 ? kNoBound : *minutes);
  return {};
}

Status set_default_time(PartitionRecord& partition, const api::Field& field) {
  if (text::is(field.value(), "NONE")) {
    partition.clear_default_time_minutes();
    return {};
  }
  const auto minutes = text::parse_minutes(field.value());
  if (!minutes) return invalid(field);
  partition.set_default_time_minutes(*minutes);
  return {};
}

Status set_over_time_limit(PartitionRecord& partition, const api::Field& field) {
  if (text::is(field.value(), "NONE")) {
    partition.clear_over_time_limit_minutes();
    return {};
  }
  return set_count<&PartitionRecord::set_over_time_limit_minutes>(partition, field);
}

template <void (PartitionRecord::*kSet)(uint32_t)>
Status set_max_cpus(PartitionRecord& partition, const api::Field& field) {
  if (field.value() == "0") return invalid(field);  // that would serve nobody: use State=DOWN
  const auto most = count(field);
  if (!most) return failure(most.error());
  (partition.*kSet)(*most == kNoBound ? 0 : *most);
  return {};
}

Status set_preempt_mode(PartitionRecord& partition, const api::Field& field) {
  const std::string mode = text::upper_case(field.value());
  if (mode != "OFF" && mode != "CANCEL" && mode != "REQUEUE" && mode != "SUSPEND")
    return failure("PreemptMode=" + field.value() + ": OFF, CANCEL, REQUEUE or SUSPEND", kInvalidTres);
  partition.set_preempt_mode(mode);
  return {};
}

Status set_oversubscribe(PartitionRecord& partition, const api::Field& field) {
  const bool exclusive = text::is(field.value(), "EXCLUSIVE");
  if (!exclusive && !text::is(field.value(), "NO"))
    return failure("OverSubscribe=" + field.value() + ": processors belong to one job; NO or EXCLUSIVE",
                   kNotSupported);
  partition.set_exclusive(exclusive);
  partition.set_oversubscribe(text::upper_case(field.value()));
  return {};
}

Status set_qos(PartitionRecord& partition, const api::Field& field) {
  partition.set_qos(text::lower_case(field.value()));
  return {};
}

Status set_billing_weights(PartitionRecord& partition, const api::Field& field) {
  if (!field.value().empty() && !accounts::parse_tres_weights(field.value())) return invalid(field);
  partition.set_billing_weights(field.value());
  return {};
}

using P = PartitionRecord;

constexpr Setter kSetCpusPerGpu =
    set_default_count<&P::clear_default_cpus_per_gpu, &P::set_default_cpus_per_gpu>;
constexpr Setter kSetMemPerGpu =
    set_memory<&P::set_default_mem_per_gpu_mib, &P::clear_default_mem_per_gpu_mib>;

// "DefCpuPerGPU=8,DefMemPerGPU=4000": both, as Slurm lists them; what is not named is nothing.
Status set_job_defaults(PartitionRecord& partition, const api::Field& field) {
  PartitionRecord next = partition;
  next.clear_default_cpus_per_gpu();
  next.clear_default_mem_per_gpu_mib();
  for (const std::string_view word : text::split(field.value(), ',')) {
    if (text::trim(word).empty()) continue;
    const size_t equals = std::min(word.find('='), word.size());
    api::Field one;
    one.set_name(std::string(text::trim(word.substr(0, equals))));
    one.set_value(equals < word.size() ? std::string(text::trim(word.substr(equals + 1))) : "");
    const Setter set = text::is(one.name(), "DefCpuPerGPU")   ? kSetCpusPerGpu
                       : text::is(one.name(), "DefMemPerGPU") ? kSetMemPerGpu
                                                              : nullptr;
    if (set == nullptr) return invalid(field);
    if (const Status done = set(next, one); !done) return done;
  }
  partition = next;
  return {};
}

constexpr uint32_t kMostPriority = 65533, kMostSeconds = 0xfffffffe;

constexpr struct {
  std::string_view name;
  Setter set;
} kFields[] = {
    {"AllowAccounts", set_list<&P::mutable_allow_accounts>},
    {"AllowGroups", set_list<&P::mutable_allow_groups>},
    {"AllowQos", set_list<&P::mutable_allow_qos>},
    {"Default", set_flag<&P::set_is_default>},
    {"DefaultTime", set_default_time},
    {"DefCpuPerGPU", kSetCpusPerGpu},
    {"DefMemPerGPU", kSetMemPerGpu},
    {"JobDefaults", set_job_defaults},
    {"DefMemPerCPU", set_memory<&P::set_default_mem_per_cpu_mib, &P::clear_default_mem_per_cpu_mib,
                                &P::clear_default_mem_per_node_mib>},
    {"DefMemPerNode", set_memory<&P::set_default_mem_per_node_mib, &P::clear_default_mem_per_cpu_mib,
                                 &P::clear_default_mem_per_node_mib>},
    {"DenyAccounts", set_list<&P::mutable_deny_accounts>},
    {"DenyQos", set_list<&P::mutable_deny_qos>},
    {"DisableRootJobs", set_flag<&P::set_disable_root_jobs>},
    {"ExclusiveUser", set_flag<&P::set_exclusive_user>},
    {"GraceTime", set_number<kMostSeconds, &P::set_grace_time_seconds>},
    {"Hidden", set_flag<&P::set_hidden>},
    {"LLN", set_flag<&P::set_least_loaded_node>},
    {"MaxCPUsPerNode", set_max_cpus<&P::set_max_cpus_per_node>},
    {"MaxCPUsPerSocket", set_max_cpus<&P::set_max_cpus_per_socket>},
    {"MaxMemPerCPU",
     set_memory<&P::set_max_mem_per_cpu_mib, &P::clear_max_mem_per_cpu_mib, &P::clear_max_mem_per_node_mib>},
    {"MaxMemPerNode",
     set_memory<&P::set_max_mem_per_node_mib, &P::clear_max_mem_per_cpu_mib, &P::clear_max_mem_per_node_mib>},
    {"MaxNodes", set_count<&P::set_max_nodes>},
    {"MaxTime", set_max_time},
    {"MinNodes", set_count<&P::set_min_nodes>},
    {"OverSubscribe", set_oversubscribe},
    {"OverTimeLimit", set_over_time_limit},
    {"PreemptMode", set_preempt_mode},
    // The older name of both.
    {"Priority", set_number<kMostPriority, &P::set_priority_tier, &P::set_priority_job_factor>},
    {"PriorityJobFactor", set_number<kMostPriority, &P::set_priority_job_factor>},
    {"PriorityTier", set_number<kMostPriority, &P::set_priority_tier>},
    {"QoS", set_qos},
    {"ReqResv", set_flag<&P::set_reservation_required>},
    {"RootOnly", set_flag<&P::set_root_only>},
    {"Shared", set_oversubscribe},
    {"State", set_state},
    {"TRESBillingWeights", set_billing_weights},
};

}  // namespace

Status apply_partition_field(PartitionRecord& partition, const api::Field& field,
                             const std::vector<NodeRecord>& nodes) {
  if (text::is(field.name(), "Nodes")) return set_nodes(partition, field.value(), nodes);
  for (const auto& row : kFields) {
    if (text::is(field.name(), row.name)) return row.set(partition, field);
  }
  return failure("a partition's " + field.name() + " cannot be changed here", kNotSupported);
}

}  // namespace minke::config
