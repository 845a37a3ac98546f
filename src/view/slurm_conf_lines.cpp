#include "view/slurm_conf_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <utility>

#include "model/cluster.pb.h"
#include "text/duration.h"
#include "view/text.h"

namespace minke::view {
namespace {

using model::NodeRecord;
using model::PartitionRecord;

std::string joined(const google::protobuf::RepeatedPtrField<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ","));
}

}  // namespace

std::string node_properties(const NodeRecord& node) {
  std::string out =
      fmt::format("Sockets={} CoresPerSocket={} ThreadsPerCore={} RealMemory={} TmpDisk={}", node.sockets(),
                  node.cores_per_socket(), node.threads_per_core(), node.memory_mib(), node.tmp_disk_mib());
  std::string gres;
  append_gres_offer(gres, node.gres());
  if (!node.gres().empty()) out += " Gres=" + gres;
  if (!node.features().empty()) out += " Feature=" + joined(node.features());
  if (node.weight() != 1) out += " Weight=" + std::to_string(node.weight());
  return out;
}

void append_partition_line(std::string& out, const PartitionRecord& partition) {
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
  if (partition.max_cpus_per_socket() != 0)
    fmt::format_to(line, " MaxCPUsPerSocket={}", partition.max_cpus_per_socket());
  if (partition.least_loaded_node()) out += " LLN=YES";
  if (!partition.qos().empty()) out += " QOS=" + partition.qos();
  if (partition.min_nodes() > 1) fmt::format_to(line, " MinNodes={}", partition.min_nodes());
  if (partition.has_default_mem_per_cpu_mib())
    fmt::format_to(line, " DefMemPerCPU={}", partition.default_mem_per_cpu_mib());
  if (partition.default_mem_per_node_mib() != 0)
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

}  // namespace minke::view
