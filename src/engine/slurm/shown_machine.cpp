#include "engine/slurm/shown_machine.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "api/machine.pb.h"
#include "engine/slurm/show_lines.h"
#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/list.h"
#include "text/number.h"
#include "text/tres.h"

namespace minke::engine::slurm {
namespace {

using Texts = google::protobuf::RepeatedPtrField<std::string>;

constexpr size_t kMostNodes = 10'000;

void add_all(const std::string& list, Texts& texts) {
  for (std::string& one : text::split_list(list)) *texts.Add() = std::move(one);
}

// A list that may say ALL, which is none.
void add_allowed(const std::string& list, Texts& texts) {
  if (!text::equals_ignoring_case(list, "ALL")) add_all(list, texts);
}

// "gpu:a100:2(S:0-1)" without where they sit.
std::string without_parentheses(const std::string& words) {
  std::string out;
  size_t depth = 0;
  for (const char c : words) {
    if (c == '(') ++depth;
    if (depth == 0) out += c;
    if (c == ')' && depth > 0) --depth;
  }
  return out;
}

bool has_word(const std::string& words, std::string_view wanted) {
  const auto parts = text::split(words, '+');
  return std::find(parts.begin(), parts.end(), wanted) != parts.end();
}

model::NodeState node_state(std::string words) {
  // A mark behind the base state of older releases: "IDLE*" does not answer. One that is being started does
  // not answer yet, and has jobs already.
  const bool starts = words.find('#') != std::string::npos || has_word(words, "POWERING_UP");
  const bool silent = !starts && (words.find('*') != std::string::npos || has_word(words, "NOT_RESPONDING"));
  std::erase_if(words,
                [](char c) { return c == '*' || c == '~' || c == '#' || c == '%' || c == '$' || c == '@'; });
  const bool drains = has_word(words, "DRAIN") || has_word(words, "DRAINED") || has_word(words, "DRAINING");
  const bool down =
      has_word(words, "DOWN") || has_word(words, "UNKNOWN") || has_word(words, "ERROR") || silent;
  if (has_word(words, "FUTURE")) return model::NODE_FUTURE;
  if (down) return drains ? model::NODE_DOWN_DRAIN : model::NODE_DOWN;
  if (drains) return model::NODE_DRAIN;
  return has_word(words, "FAIL") ? model::NODE_FAIL : model::NODE_IDLE;
}

// "broken fan [root@1795420500]": the words, and when they were said.
void set_node_reason(const std::string& words, model::NodeRecord& node) {
  const size_t open = words.rfind(" ["), at = words.rfind('@');
  if (open == std::string::npos || at == std::string::npos || at < open || words.back() != ']')
    return node.set_reason(words);
  node.set_reason(words.substr(0, open));
  const std::string_view time = std::string_view(words).substr(at + 1, words.size() - at - 2);
  if (const auto seconds = text::parse_unsigned(time, uint64_t{1} << 40))
    node.set_reason_time(static_cast<int64_t>(*seconds));
}

// A count without a type is of the only type that the node has.
void set_allocated(const std::string& tres, model::NodeRecord& node) {
  for (model::Gres one : text::parse_tres(tres).gres) {
    const model::Gres* only = nullptr;
    int types = 0;
    for (const model::Gres& offered : node.gres()) {
      if (offered.name() != one.name()) continue;
      only = &offered;
      ++types;
    }
    if (one.type().empty() && types == 1) one.set_type(only->type());
    *node.add_allocated_gres() = std::move(one);
  }
}

std::optional<uint64_t> mebibytes(const ShownRecord& from, std::string_view name) {
  return text::parse_unsigned(from.text(name), uint64_t{1} << 50);
}

}  // namespace

model::NodeRecord node_of(const ShownRecord& from) {
  model::NodeRecord node;
  node.set_name(from.text("NodeName"));
  node.set_address(from.text("NodeAddr"));
  node.set_host_name(from.text("NodeHostName"));
  node.set_state(node_state(from.text("State")));
  set_node_reason(from.text("Reason"), node);
  node.set_maintenance(has_word(from.text("State"), "MAINTENANCE") || has_word(from.text("State"), "MAINT"));
  node.set_reservation(from.text("ReservationName"));
  const uint32_t offered = from.count("CPUEfctv");
  node.set_cpus(offered != 0 ? offered : from.count("CPUTot"));
  node.set_boards(from.count("Boards"));
  node.set_sockets(from.count("Sockets"));
  node.set_cores_per_socket(from.count("CoresPerSocket"));
  node.set_threads_per_core(from.count("ThreadsPerCore"));
  node.set_memory_mib(from.number("RealMemory"));
  node.set_tmp_disk_mib(from.number("TmpDisk"));
  node.set_weight(from.count("Weight"));
  node.set_architecture(from.text("Arch"));
  node.set_os(from.text("OS"));
  node.set_version(from.text("Version"));
  node.set_boot_time(from.time("BootTime"));
  node.set_daemon_start_time(from.time("SlurmdStartTime"));
  const std::string load = from.text("CPULoad");
  double value = 0;
  (void)std::from_chars(load.data(), load.data() + load.size(), value);
  node.set_cpu_load(value);
  node.set_free_memory_mib(from.number("FreeMem"));
  node.set_allocated_cpus(from.count("CPUAlloc"));
  node.set_allocated_memory_mib(from.number("AllocMem"));
  add_all(from.text("AvailableFeatures"), *node.mutable_features());
  add_all(from.text("ActiveFeatures"), *node.mutable_active_features());
  add_all(from.text("Partitions"), *node.mutable_partitions());
  if (const auto gres = text::parse_gres_list(without_parentheses(from.text("Gres"))))
    node.mutable_gres()->Add(gres->begin(), gres->end());
  set_allocated(from.text("AllocTRES"), node);
  node.set_comment(from.text("Comment"));
  node.set_extra(from.text("Extra"));
  return node;
}

model::PartitionRecord partition_of(const ShownRecord& from) {
  model::PartitionRecord partition;
  partition.set_name(from.text("PartitionName"));
  partition.set_is_default(from.yes("Default"));
  partition.set_state(from.text("State"));
  partition.set_nodes(from.text("Nodes"));
  const std::string longest = from.text("MaxTime");
  partition.set_max_time_minutes(longest.empty() ? text::kUnlimited : from.minutes("MaxTime"));
  partition.set_default_time_minutes(from.minutes("DefaultTime"));
  partition.set_max_nodes(from.text("MaxNodes").empty() ? text::kUnlimited : from.count("MaxNodes"));
  partition.set_min_nodes(from.count("MinNodes"));
  if (const auto mib = mebibytes(from, "DefMemPerCPU")) partition.set_default_mem_per_cpu_mib(*mib);
  if (const auto mib = mebibytes(from, "DefMemPerNode")) partition.set_default_mem_per_node_mib(*mib);
  if (const auto mib = mebibytes(from, "MaxMemPerCPU")) partition.set_max_mem_per_cpu_mib(*mib);
  if (const auto mib = mebibytes(from, "MaxMemPerNode")) partition.set_max_mem_per_node_mib(*mib);
  partition.set_priority_tier(from.count("PriorityTier"));
  partition.set_priority_job_factor(from.count("PriorityJobFactor"));
  partition.set_oversubscribe(from.text("OverSubscribe"));
  // Slurm 26.05 says Exclusive=USER where earlier ones said ExclusiveUser=YES.
  partition.set_exclusive(partition.oversubscribe() == "EXCLUSIVE" || from.text("Exclusive") == "NODE");
  partition.set_exclusive_user(from.yes("ExclusiveUser") || from.text("Exclusive") == "USER");
  partition.set_hidden(from.yes("Hidden"));
  partition.set_root_only(from.yes("RootOnly"));
  partition.set_disable_root_jobs(from.yes("DisableRootJobs"));
  partition.set_reservation_required(from.yes("ReqResv"));
  const uint32_t most_cpus = from.count("MaxCPUsPerNode");
  partition.set_max_cpus_per_node(most_cpus == text::kUnlimited ? 0 : most_cpus);
  const uint32_t of_socket = from.count("MaxCPUsPerSocket");  // older releases name none: 0
  partition.set_max_cpus_per_socket(of_socket == text::kUnlimited ? 0 : of_socket);
  partition.set_least_loaded_node(from.yes("LLN"));
  partition.set_grace_time_seconds(from.count("GraceTime"));
  partition.set_preempt_mode(from.text("PreemptMode"));
  partition.set_qos(from.text("QoS"));
  partition.set_total_cpus(from.count("TotalCPUs"));
  partition.set_total_nodes(from.count("TotalNodes"));
  partition.set_billing_weights(from.text("TRESBillingWeights"));
  add_allowed(from.text("AllowAccounts"), *partition.mutable_allow_accounts());
  add_all(from.text("DenyAccounts"), *partition.mutable_deny_accounts());
  add_allowed(from.text("AllowQos"), *partition.mutable_allow_qos());
  add_all(from.text("DenyQos"), *partition.mutable_deny_qos());
  add_allowed(from.text("AllowGroups"), *partition.mutable_allow_groups());
  const text::TresAmounts total = text::parse_tres(from.text("TRES"));
  partition.set_total_memory_mib(total.memory_mib);
  partition.mutable_total_gres()->Add(total.gres.begin(), total.gres.end());
  return partition;
}

model::ReservationRecord reservation_of(const ShownRecord& from) {
  model::ReservationRecord reservation;
  reservation.set_name(from.text("ReservationName"));
  reservation.set_start_time(from.time("StartTime"));
  reservation.set_end_time(from.time("EndTime"));
  reservation.set_node_count(from.count("NodeCnt"));
  reservation.set_core_count(from.count("CoreCnt"));
  add_all(from.text("Flags"), *reservation.mutable_flags());
  const auto people = [](const std::string& list, Texts& names) {
    bool denied = false;
    for (std::string& one : text::split_list(list)) {
      denied = denied || one.starts_with('-');
      *names.Add() = one.starts_with('-') ? one.substr(1) : one;
    }
    return denied;
  };
  reservation.set_users_denied(people(from.text("Users"), *reservation.mutable_users()));
  reservation.set_accounts_denied(people(from.text("Accounts"), *reservation.mutable_accounts()));
  add_all(from.text("Groups"), *reservation.mutable_groups());
  reservation.set_partition(from.text("PartitionName"));
  reservation.set_features(from.text("Features"));
  reservation.set_licenses(from.text("Licenses"));
  reservation.set_comment(from.text("Comment"));
  const auto names = text::expand_hostlist(from.text("Nodes"));
  if (!names || names->size() > kMostNodes) return reservation;
  // Where it has cores of nodes, they stand in lines of their own, which -o does not part: an equal part of
  // each.
  const bool whole = from.text("CoreIDs").empty();
  const uint64_t cpus = text::parse_tres(from.text("TRES")).cpus / std::max<size_t>(1, names->size());
  for (const std::string& name : *names) {
    model::ReservationRecord::Share& share = *reservation.add_shares();
    share.set_node(name);
    if (!whole) share.set_cpus(static_cast<uint32_t>(std::min<uint64_t>(cpus, 1 << 20)));
  }
  return reservation;
}

api::License license_of(const ShownRecord& from) {
  api::License license;
  license.set_name(from.text("LicenseName"));
  license.set_total(from.count("Total"));
  license.set_used(from.count("Used"));
  return license;
}

void add_setting(std::string_view line, api::ConfigReply& reply) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos || equals == 0 || line[equals - 1] != ' ') return;
  const std::string_view name = text::trim(line.substr(0, equals));
  if (name.empty() || name.find(' ') != std::string_view::npos) return;
  api::Field& field = *reply.add_values();
  field.set_name(std::string(name));
  field.set_value(std::string(text::trim(line.substr(equals + 1))));
}

}  // namespace minke::engine::slurm
