// scontrol show node, show partition and show config.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <utility>

#include "api/field.pb.h"
#include "api/machine.pb.h"
#include "cli/scontrol/show.h"
#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/number.h"
#include "view/block.h"
#include "view/node_text.h"
#include "view/text.h"

namespace minke::cli {
namespace {

using model::NodeRecord;
using model::PartitionRecord;

std::string joined(const google::protobuf::RepeatedPtrField<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ',';
    out += word;
  }
  return out;
}
std::string or_null(std::string text) {
  return text.empty() ? "(null)" : std::move(text);
}
const char* yes_or_no(bool value) {
  return value ? "YES" : "NO";
}
std::string time_text(int64_t time, const view::DisplayContext& context, std::string_view none) {
  std::string out;
  view::append_time(out, time, context, none);
  return out;
}

// IDLE, MIXED+DRAIN
std::string state_words(const NodeRecord& node) {
  return text::upper_case(view::state_complete(view::shown_state(node)));
}

std::string gres_offered(const NodeRecord& node) {
  std::string out;
  view::append_gres_offer(out, node.gres());
  return out;
}

// The configured or allocated resources: cpu=4,mem=4000M,billing=4,gres/gpu=2.
std::string tres_text(uint64_t cpus, uint64_t memory_mib, uint64_t nodes, double billing,
                      const google::protobuf::RepeatedPtrField<model::Gres>& gres,
                      const view::DisplayContext& context) {
  text::TresAmounts amounts;
  amounts.cpus = cpus;
  amounts.memory_mib = memory_mib;
  amounts.nodes = nodes;
  if (billing > 0) amounts.billing = static_cast<uint64_t>(billing);
  amounts.gres.assign(gres.begin(), gres.end());
  std::string out;
  view::append_tres(out, amounts, text::TresOrder::kById, context);
  return out;
}

std::string count_or_unlimited(uint32_t count) {
  return count == text::kUnlimited ? "UNLIMITED" : std::to_string(count);
}

// "0=GPU-…(NVIDIA H100 80GB HBM3,/dev/nvidia0)", by the numbers of GresUsed; "virtual" for gres
// that are only counted.
std::string gres_devices(const NodeRecord& node) {
  if (node.gpu_devices().empty()) return node.virtual_gres() ? "virtual" : "N/A";
  std::string text;
  for (int index = 0; index < node.gpu_devices_size(); ++index) {
    const model::GpuDevice& device = node.gpu_devices(index);
    fmt::format_to(std::back_inserter(text), "{}{}={}({},{}M{}{})", text.empty() ? "" : ";", index,
                   device.uuid(), device.name(), device.memory_mib(), device.files().empty() ? "" : ",",
                   fmt::join(device.files(), ","));
  }
  return text;
}

}  // namespace

void append_node_block(std::string& out, const NodeRecord& node, const view::DisplayContext& context,
                       view::ShowOptions options) {
  view::Block block(out, options);
  block
      .put("NodeName={} Arch={} CoresPerSocket={} ", node.name(), node.architecture(),
           node.cores_per_socket())
      .end();
  block
      .put("CPUAlloc={} CPUEfctv={} CPUTot={} CPULoad={:.2f}", node.allocated_cpus(), node.cpus(),
           node.cpus(), node.cpu_load())
      .end();
  block.put("AvailableFeatures={}", or_null(joined(node.features()))).end();
  block.put("ActiveFeatures={}", or_null(joined(node.active_features()))).end();
  block.put("Gres={}", gres_offered(node)).end();
  if (options.details) {
    std::string used;
    view::append_gres_used(used, node);
    block.put("GresDrain=N/A").end();
    if (context.release < kSlurm24 || !node.gres().empty()) block.put("GresUsed={}", used).end();
    if (!node.gres().empty()) block.put("GresDevices={}", gres_devices(node)).end();
  }
  block
      .put("NodeAddr={} NodeHostName={} Version={}", node.address().empty() ? node.name() : node.address(),
           view::host_name_of(node), node.version())
      .end();
  block.put("OS={} ", node.os()).end();
  block
      .put("RealMemory={} AllocMem={} FreeMem={} Sockets={} Boards={}", node.memory_mib(),
           node.allocated_memory_mib(), node.free_memory_mib(), node.sockets(), node.boards())
      .end();
  block
      .put("State={} ThreadsPerCore={} TmpDisk={} Weight={} Owner=N/A MCS_label=N/A", state_words(node),
           node.threads_per_core(), node.tmp_disk_mib(), node.weight())
      .end();
  block.put("Partitions={} ", joined(node.partitions())).end();
  block
      .put("BootTime={} SlurmdStartTime={}", time_text(node.boot_time(), context, "None"),
           time_text(node.daemon_start_time(), context, "None"))
      .end();
  block.put("LastBusyTime={}", time_text(node.last_busy(), context, "Unknown"));
  if (context.release >= kSlurm24) block.put(" ResumeAfterTime=None");
  if (context.release >= kSlurm26) block.put(" SuspendTime=INFINITE");
  block.end();
  block
      .put("CfgTRES={}", tres_text(node.cpus(), node.memory_mib(), 0,
                                   node.billing() > 0 ? node.billing() : node.cpus(), node.gres(), context))
      .end();
  block
      .put("AllocTRES={}", tres_text(node.allocated_cpus(), node.allocated_memory_mib(), 0, 0,
                                     node.allocated_gres(), context))
      .end();
  if (context.release < kSlurm24) block.put("CapWatts=n/a").end();
  block.put("CurrentWatts=0 AveWatts=0");
  if (context.release < kSlurm24) {
    block.end();
    block.put("ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s");
  }
  if (!node.reservation().empty()) {
    block.end();
    block.put("ReservationName={}", node.reservation());
  }
  for (const auto& [name, value] :
       {std::pair{"Comment", &node.comment()}, std::pair{"Extra", &node.extra()}}) {
    if (value->empty()) continue;
    block.end();
    block.put("{}={}", name, *value);
  }
  if (!node.reason().empty()) {
    block.end();
    block.put("Reason={}", node.reason());
    if (node.reason_time() != 0)
      block.put(" [{}@{}]", view::user_name_of(node.reason_uid()),
                time_text(node.reason_time(), context, "Unknown"));
  }
  out += options.one_line ? "\n" : "\n\n";
}

namespace {

// Whom a partition keeps off its nodes.
std::string exclusion(const PartitionRecord& partition, int release) {
  if (release >= kSlurm26) {
    const bool whole = partition.exclusive() || partition.oversubscribe() == "EXCLUSIVE";
    return std::string("Exclusive=") + (partition.exclusive_user() ? "USER" : whole ? "NODE" : "NO");
  }
  return std::string("ExclusiveUser=") + yes_or_no(partition.exclusive_user()) +
         (release < kSlurm24 ? "" : " ExclusiveTopo=NO");
}

// What comes with each GPU.
std::string job_defaults(const PartitionRecord& partition) {
  std::string list;
  if (partition.has_default_cpus_per_gpu())
    list = "DefCpuPerGPU=" + std::to_string(partition.default_cpus_per_gpu());
  if (partition.has_default_mem_per_gpu_mib())
    list += (list.empty() ? "DefMemPerGPU=" : ",DefMemPerGPU=") +
            std::to_string(partition.default_mem_per_gpu_mib());
  return list;
}

}  // namespace

void append_partition_block(std::string& out, const PartitionRecord& partition,
                            const view::DisplayContext& context, view::ShowOptions options) {
  view::Block block(out, options);
  block.put("PartitionName={}", partition.name()).end();
  const auto all_or = [](const auto& words) { return words.empty() ? std::string("ALL") : joined(words); };
  const auto access = [&](std::string_view what, const auto& allowed, const auto& denied) {
    return allowed.empty() && !denied.empty() ? fmt::format("Deny{}={}", what, joined(denied))
                                              : fmt::format("Allow{}={}", what, all_or(allowed));
  };
  block
      .put("AllowGroups={} {} {}", all_or(partition.allow_groups()),
           access("Accounts", partition.allow_accounts(), partition.deny_accounts()),
           access("Qos", partition.allow_qos(), partition.deny_qos()))
      .end();
  block
      .put("AllocNodes=ALL Default={} QoS={}", yes_or_no(partition.is_default()),
           partition.qos().empty() ? "N/A" : partition.qos())
      .end();
  block
      .put("DefaultTime={} DisableRootJobs={} {} GraceTime={} Hidden={}",
           partition.default_time_minutes() == 0 ? "NONE"
                                                 : text::format_minutes(partition.default_time_minutes()),
           yes_or_no(partition.disable_root_jobs()), exclusion(partition, context.release),
           partition.grace_time_seconds(), yes_or_no(partition.hidden()))
      .end();
  const auto most = [](uint32_t cpus) { return count_or_unlimited(cpus == 0 ? text::kUnlimited : cpus); };
  block.put("MaxNodes={} MaxTime={} MinNodes={} LLN={} MaxCPUsPerNode={}",
            count_or_unlimited(partition.max_nodes()), text::format_minutes(partition.max_time_minutes()),
            partition.min_nodes(), yes_or_no(partition.least_loaded_node()),
            most(partition.max_cpus_per_node()));
  if (context.release >= kSlurm24) block.put(" MaxCPUsPerSocket={}", most(partition.max_cpus_per_socket()));
  block.end();
  block.put("Nodes={}", or_null(partition.nodes())).end();
  block
      .put("PriorityJobFactor={} PriorityTier={} RootOnly={} ReqResv={} OverSubscribe={}",
           partition.priority_job_factor(), partition.priority_tier(), yes_or_no(partition.root_only()),
           yes_or_no(partition.reservation_required()),
           partition.exclusive() || partition.oversubscribe() == "EXCLUSIVE" ? "EXCLUSIVE" : "NO")
      .end();
  block
      .put("OverTimeLimit={} PreemptMode={}",
           !partition.has_over_time_limit_minutes() ? "NONE"
           : partition.over_time_limit_minutes() == text::kUnlimited
               ? "UNLIMITED"
               : std::to_string(partition.over_time_limit_minutes()),
           partition.preempt_mode().empty() ? "OFF" : partition.preempt_mode())
      .end();
  block
      .put("State={} TotalCPUs={} TotalNodes={} SelectTypeParameters=NONE",
           partition.state().empty() ? "UP" : partition.state(), partition.total_cpus(),
           partition.total_nodes())
      .end();
  block.put("JobDefaults={}", or_null(job_defaults(partition))).end();
  const auto mib = [](bool is_set, uint64_t value) {
    return is_set && value != 0 ? std::to_string(value) : "UNLIMITED";
  };
  const bool default_cpu = partition.has_default_mem_per_cpu_mib(),
             most_cpu = partition.has_max_mem_per_cpu_mib();
  block
      .put("{}={} {}={}", default_cpu ? "DefMemPerCPU" : "DefMemPerNode",
           default_cpu ? mib(true, partition.default_mem_per_cpu_mib())
                       : mib(partition.has_default_mem_per_node_mib(), partition.default_mem_per_node_mib()),
           most_cpu ? "MaxMemPerCPU" : "MaxMemPerNode",
           most_cpu ? mib(true, partition.max_mem_per_cpu_mib())
                    : mib(partition.has_max_mem_per_node_mib(), partition.max_mem_per_node_mib()))
      .end();
  const std::string tres =
      tres_text(partition.total_cpus(), partition.total_memory_mib(), partition.total_nodes(),
                partition.total_cpus(), partition.total_gres(), context);
  block.put("TRES={}", or_null(tres));
  if (!partition.billing_weights().empty()) {
    block.end();
    block.put("TRESBillingWeights={}", partition.billing_weights());
  }
  out += options.one_line ? "\n" : "\n\n";
}

void append_configuration(std::string& out, const api::ConfigReply& config,
                          const view::DisplayContext& context) {
  auto line = std::back_inserter(out);
  fmt::format_to(line, "Configuration data as of {}\n", time_text(context.now, context, "Unknown"));
  for (const api::Field& value : config.values())
    fmt::format_to(line, "{:<23} = {}\n", value.name(), or_null(value.value()));
  out += '\n';
}

}  // namespace minke::cli
