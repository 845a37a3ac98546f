// scontrol write config: writes the configuration as a slurm.conf, for a real Slurm that
// takes over the cluster.
//
// What is not set, and what no slurm.conf can set, is written as a comment. A file is never overwritten: the
// time is part of its name, as in Slurm.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "api/field.pb.h"
#include "api/machine.pb.h"
#include "cli/scontrol/commands.h"
#include "engine/fetch.h"
#include "model/cluster.pb.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::cli {
namespace {

using model::NodeRecord;
using model::PartitionRecord;

constexpr std::string_view kNoParameters[] = {"BOOT_TIME",   "HASH_VAL",   "MULTIPLE_SLURMD",
                                              "NEXT_JOB_ID", "SLURM_CONF", "SLURM_VERSION"};

// "120 sec" is 120 in the file.
std::string without_unit(const std::string& value) {
  const size_t space = value.find(' ');
  for (std::string_view unit : {" sec", " usec", " min", " nodes/min", " percent"})
    if (space != std::string::npos && value.substr(space) == unit) return value.substr(0, space);
  return value;
}

void append_parameter(std::string& out, const api::Field& field) {
  const bool derived =
      std::find(std::begin(kNoParameters), std::end(kNoParameters), field.name()) != std::end(kNoParameters);
  const bool unset = field.value().empty() || field.value().starts_with("(null");
  const std::string value = unset ? "" : without_unit(field.value());
  out += derived || unset ? "#" : "";
  // "SlurmctldHost[0]" is SlurmctldHost in the file.
  out += field.name().substr(0, field.name().find('[')) + "=";
  out += (value.find(' ') == std::string::npos ? value : '"' + value + '"') + "\n";
}

std::string joined(const google::protobuf::RepeatedPtrField<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ","));
}

// Returns everything of a NodeName line but its names.
std::string node_properties(const NodeRecord& node) {
  std::string out =
      fmt::format("Sockets={} CoresPerSocket={} ThreadsPerCore={} RealMemory={} TmpDisk={}", node.sockets(),
                  node.cores_per_socket(), node.threads_per_core(), node.memory_mib(), node.tmp_disk_mib());
  std::string gres;
  view::append_gres_offer(gres, node.gres());
  if (!node.gres().empty()) out += " Gres=" + gres;
  if (!node.features().empty()) out += " Feature=" + joined(node.features());
  if (node.weight() != 1) out += " Weight=" + std::to_string(node.weight());
  return out;
}

// Nodes that are alike share a line, in the order of the first of each kind.
void append_nodes(std::string& out, const std::vector<const NodeRecord*>& nodes) {
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds;
  for (const NodeRecord* node : nodes) {
    const std::string properties = node_properties(*node);
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const auto& known) { return known.first == properties; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {properties, {}});
    kind->second.push_back(node->name());
  }
  for (const auto& [properties, names] : kinds)
    fmt::format_to(std::back_inserter(out), "NodeName={} {}\n", text::compress_hostlist(names), properties);
}

void append_partition(std::string& out, const PartitionRecord& partition) {
  auto line = std::back_inserter(out);
  fmt::format_to(line, "PartitionName={} Nodes={}", partition.name(), partition.nodes());
  if (partition.is_default()) out += " Default=YES";
  if (partition.max_time_minutes() != text::kUnlimited)
    fmt::format_to(line, " MaxTime={}", text::format_minutes(partition.max_time_minutes()));
  if (partition.default_time_minutes() != 0)
    fmt::format_to(line, " DefaultTime={}", text::format_minutes(partition.default_time_minutes()));
  if (partition.max_nodes() != text::kUnlimited) fmt::format_to(line, " MaxNodes={}", partition.max_nodes());
  if (partition.max_cpus_per_node() != 0)
    fmt::format_to(line, " MaxCPUsPerNode={}", partition.max_cpus_per_node());
  if (!partition.qos().empty()) out += " QOS=" + partition.qos();
  if (partition.min_nodes() > 1) fmt::format_to(line, " MinNodes={}", partition.min_nodes());
  if (partition.has_default_mem_per_cpu_mib())
    fmt::format_to(line, " DefMemPerCPU={}", partition.default_mem_per_cpu_mib());
  if (partition.has_default_mem_per_node_mib())
    fmt::format_to(line, " DefMemPerNode={}", partition.default_mem_per_node_mib());
  if (partition.has_default_cpus_per_gpu())
    fmt::format_to(line, " DefCpuPerGPU={}", partition.default_cpus_per_gpu());
  if (partition.has_default_mem_per_gpu_mib())
    fmt::format_to(line, " DefMemPerGPU={}", partition.default_mem_per_gpu_mib());
  if (partition.has_max_mem_per_cpu_mib())
    fmt::format_to(line, " MaxMemPerCPU={}", partition.max_mem_per_cpu_mib());
  if (partition.has_max_mem_per_node_mib())
    fmt::format_to(line, " MaxMemPerNode={}", partition.max_mem_per_node_mib());
  if (partition.has_over_time_limit_minutes())
    fmt::format_to(line, " OverTimeLimit={}",
                   partition.over_time_limit_minutes() == text::kUnlimited
                       ? "UNLIMITED"
                       : std::to_string(partition.over_time_limit_minutes()));
  if (partition.grace_time_seconds() != 0)
    fmt::format_to(line, " GraceTime={}", partition.grace_time_seconds());
  if (!partition.preempt_mode().empty()) fmt::format_to(line, " PreemptMode={}", partition.preempt_mode());
  if (!partition.billing_weights().empty())
    fmt::format_to(line, " TRESBillingWeights={}", partition.billing_weights());
  if (partition.priority_tier() != 1) fmt::format_to(line, " PriorityTier={}", partition.priority_tier());
  if (partition.priority_job_factor() != 1)
    fmt::format_to(line, " PriorityJobFactor={}", partition.priority_job_factor());
  if (partition.exclusive()) out += " OverSubscribe=EXCLUSIVE";
  for (const auto& [name, words] :
       {std::pair{"AllowAccounts", &partition.allow_accounts()},
        std::pair{"DenyAccounts", &partition.deny_accounts()}, std::pair{"AllowQos", &partition.allow_qos()},
        std::pair{"DenyQos", &partition.deny_qos()}, std::pair{"AllowGroups", &partition.allow_groups()}})
    if (!words->empty()) fmt::format_to(line, " {}={}", name, joined(*words));
  for (const auto& [name, set] :
       {std::pair{"Hidden", partition.hidden()}, std::pair{"ExclusiveUser", partition.exclusive_user()},
        std::pair{"RootOnly", partition.root_only()},
        std::pair{"DisableRootJobs", partition.disable_root_jobs()},
        std::pair{"ReqResv", partition.reservation_required()}})
    if (set) fmt::format_to(line, " {}=YES", name);
  fmt::format_to(line, " State={}\n", partition.state().empty() ? "UP" : partition.state());
}

}  // namespace

int Scontrol::write_configuration(std::string path) {
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto fail = [&](const std::string& why) { return complain("slurm_write_ctl_conf error: " + why); };
  const auto config = cluster->configuration();
  if (!config) return fail(config.error().message);
  const auto nodes = engine::fetch_nodes(*cluster);
  const auto partitions = engine::fetch_partitions(*cluster);
  if (!nodes || !partitions) return fail((nodes ? partitions.error() : nodes.error()).message);

  std::string time;
  view::append_time(time, nodes->now, context(nodes->now), "");
  std::string out = "# slurm.conf of " + time + ", as Minke is configured\n";
  for (const api::Field& field : config->values()) append_parameter(out, field);
  out += "\n";
  append_nodes(out, nodes->records);
  for (const PartitionRecord* partition : partitions->records) append_partition(out, *partition);

  path = (path.empty() ? "slurm.conf" : path) + "." + time;
  if (const Status saved = save(path, out, 0644); !saved) return fail(saved.error().message);
  view::write_out("Slurm config saved to " + path + "\n");
  return 0;
}

}  // namespace minke::cli
