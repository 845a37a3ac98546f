// Nodes and partitions for --json.
#include <cmath>
#include <string>

#include "base/version.h"
#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"
#include "text/tres.h"
#include "view/document/records.h"
#include "view/node_text.h"

namespace minke::view {
namespace {

using model::NodeRecord;
using model::PartitionRecord;

std::string offered(const google::protobuf::RepeatedPtrField<model::Gres>& gres) {
  return text::format_gres_offer(std::vector<model::Gres>(gres.begin(), gres.end()));
}

std::string tres_of_node(const NodeRecord& node, bool used, const DisplayContext& context) {
  text::TresAmounts amounts;
  amounts.cpus = used ? node.allocated_cpus() : node.cpus();
  amounts.memory_mib = used ? node.allocated_memory_mib() : node.memory_mib();
  if (!used) amounts.billing = node.billing() > 0 ? static_cast<uint64_t>(node.billing()) : node.cpus();
  const auto& gres = used ? node.allocated_gres() : node.gres();
  amounts.gres.assign(gres.begin(), gres.end());
  std::string out;
  append_tres(out, amounts, text::TresOrder::kById, context);
  return out;
}

void describe_texts(Document& document, std::string_view key,
                    const google::protobuf::RepeatedPtrField<std::string>& texts) {
  document.begin_array(key);
  for (const std::string& one : texts) document.text(one);
  document.end();
}

// Of a node without any, nothing is told.
std::string gres_used(const NodeRecord& node) {
  std::string used;
  if (!node.gres().empty()) append_gres_used(used, node);
  return used;
}

}  // namespace

NodeLayouts layouts_of(std::span<const NodeRecord* const> nodes) {
  NodeLayouts layouts;
  for (const NodeRecord* node : nodes)
    layouts[node->name()] = {std::max(1u, node->sockets()), std::max(1u, node->cores_per_socket()),
                             std::max(1u, node->threads_per_core())};
  return layouts;
}

void describe_node_states(Document& document, const NodeRecord& node) {
  const ShownNodeState state = shown_state(node);
  document.begin_array("state");
  switch (state.base) {
    case NodeBaseState::kDown:
      document.text("DOWN");
      break;
    case NodeBaseState::kIdle:
      document.text("IDLE");
      break;
    case NodeBaseState::kAllocated:
      document.text("ALLOCATED");
      break;
    case NodeBaseState::kMixed:
      document.text("MIXED");
      break;
  }
  if (state.drain) document.text("DRAIN");
  if (state.fail) document.text("FAIL");
  if (state.maintenance) document.text("MAINTENANCE");
  if (state.reserved) document.text("RESERVED");
  document.end();
}

void describe_node(Document& document, const NodeRecord& node, const DisplayContext& context) {
  document.begin_object();
  document.text("architecture", node.architecture());
  document.text("burstbuffer_network_address", "");
  document.integer("boards", std::max(1u, node.boards()));
  describe_time(document, "boot_time", node.boot_time());
  document.text("cluster_name", "");
  document.integer("cores", node.cores_per_socket());
  document.integer("specialized_cores", 0);
  document.integer("cpu_binding", 0);
  document.integer("cpu_load", std::lround(node.cpu_load() * 100));
  document.number("free_mem", static_cast<int64_t>(node.free_memory_mib()));
  document.integer("cpus", node.cpus());
  document.integer("effective_cpus", node.cpus());
  document.text("specialized_cpus", "");
  document.begin_object("energy");
  document.integer("average_watts", 0);
  document.integer("base_consumed_energy", 0);
  document.integer("consumed_energy", 0);
  document.number("current_watts", 0);
  document.integer("previous_consumed_energy", 0);
  document.integer("last_collected", 0);
  document.end();
  document.begin_object("external_sensors");
  document.end();
  document.text("extra", node.extra());
  document.begin_object("power");
  document.end();
  describe_texts(document, "features", node.features());
  describe_texts(document, "active_features", node.active_features());
  describe_time(document, "tls_cert_last_renewal", 0);
  document.text("gres", offered(node.gres()));
  document.text("gres_drained", "N/A");
  document.text("gres_used", gres_used(node));
  document.text("instance_id", "");
  document.text("instance_type", "");
  describe_time(document, "last_busy", node.last_busy());
  document.text("mcs_label", "");
  document.integer("specialized_memory", 0);
  document.text("name", node.name());
  document.text("next_state_after_reboot", "INVALID");
  document.text("address", node.address().empty() ? node.name() : node.address());
  document.text("hostname", host_name_of(node));
  describe_node_states(document, node);
  document.text("operating_system", node.os());
  document.text("owner", "");
  describe_texts(document, "partitions", node.partitions());
  document.integer("port", 0);
  document.integer("real_memory", static_cast<int64_t>(node.memory_mib()));
  document.text("comment", node.comment());
  document.text("reason", node.reason());
  describe_time(document, "reason_changed_at", node.reason_time());
  document.text("reason_set_by_user",
                node.reason().empty() ? std::string() : user_name_of(node.reason_uid()));
  describe_time(document, "resume_after", 0);
  document.text("reservation", node.reservation());
  document.integer("alloc_memory", static_cast<int64_t>(node.allocated_memory_mib()));
  document.integer("alloc_cpus", node.allocated_cpus());
  document.integer("alloc_idle_cpus", int64_t{node.cpus()} - std::min(node.cpus(), node.allocated_cpus()));
  document.text("tres_used", tres_of_node(node, true, context));
  document.real("tres_weighted", node.allocated_cpus());
  document.number("suspend_time", std::nullopt, true);
  describe_time(document, "slurmd_start_time", node.daemon_start_time());
  document.integer("sockets", node.sockets());
  document.integer("threads", node.threads_per_core());
  document.integer("temporary_disk", static_cast<int64_t>(node.tmp_disk_mib()));
  document.integer("weight", node.weight());
  document.text("tres", tres_of_node(node, false, context));
  document.text("version",
                node.version().empty() ? slurm_version(spoken_release()) : std::string_view(node.version()));
  document.end();
}

void describe_node_line(Document& document, const NodeLine& line, const DisplayContext& context) {
  const auto range = [&](std::string_view key, auto value) {
    int64_t least = 0, most = 0;
    for (const NodeRecord* node : line.nodes) {
      const auto one = static_cast<int64_t>(value(*node));
      least = node == line.nodes.front() ? one : std::min(least, one);
      most = std::max(most, one);
    }
    if (!key.empty()) document.begin_object(key);
    document.integer("minimum", least);
    document.integer("maximum", most);
    if (!key.empty()) document.end();
  };
  const auto texts = [&](std::string_view key, auto value) {
    document.begin_array(key);
    for (const NodeRecord* node : line.nodes)
      document.text(value(*node).empty() ? node->name() : value(*node));
    document.end();
  };
  const auto counts = [&](const LineCounts& counted) {
    document.integer("allocated", static_cast<int64_t>(counted.allocated));
    document.integer("idle", static_cast<int64_t>(counted.idle));
    document.integer("other", static_cast<int64_t>(counted.other));
    document.integer("total", static_cast<int64_t>(counted.total));
  };
  const NodeRecord nothing;
  const NodeRecord& first = line.nodes.empty() ? nothing : *line.nodes.front();
  document.begin_object();
  document.integer("port", 0);
  document.begin_object("node");
  describe_node_states(document, first);
  document.end();
  document.begin_object("nodes");
  counts(count_nodes(line));
  texts("hostnames", [](const NodeRecord& node) { return host_name_of(node); });
  texts("addresses", [](const NodeRecord& node) { return node.address(); });
  texts("nodes", [](const NodeRecord& node) { return node.name(); });
  document.end();
  document.begin_object("cpus");
  counts(count_cpus(line));
  range("", [](const NodeRecord& node) { return node.cpus(); });
  range("load", [](const NodeRecord& node) { return std::lround(node.cpu_load() * 100); });
  document.begin_object("per_node");
  document.number("max", 0, true);
  document.end();
  document.end();
  range("sockets", [](const NodeRecord& node) { return node.sockets(); });
  range("cores", [](const NodeRecord& node) { return node.cores_per_socket(); });
  range("threads", [](const NodeRecord& node) { return node.threads_per_core(); });
  range("disk", [](const NodeRecord& node) { return node.tmp_disk_mib(); });
  document.begin_object("memory");
  range("", [](const NodeRecord& node) { return node.memory_mib(); });
  int64_t least_free = INT64_MAX, most_free = 0, allocated = 0;
  for (const NodeRecord* node : line.nodes) {
    least_free = std::min(least_free, static_cast<int64_t>(node->free_memory_mib()));
    most_free = std::max(most_free, static_cast<int64_t>(node->free_memory_mib()));
    allocated += static_cast<int64_t>(node->allocated_memory_mib());
  }
  document.begin_object("free");
  document.number("minimum", line.nodes.empty() ? std::nullopt : std::optional(least_free));
  document.number("maximum", line.nodes.empty() ? std::nullopt : std::optional(most_free));
  document.end();
  document.integer("allocated", allocated);
  document.end();
  range("weight", [](const NodeRecord& node) { return node.weight(); });
  std::string features;
  for (const std::string& feature : first.features()) features += (features.empty() ? "" : ",") + feature;
  document.begin_object("features");
  document.text("total", features);
  document.text("active", features);
  document.end();
  document.text("cluster", "");  // of several clusters alone
  document.text("comment", first.comment());
  document.text("extra", first.extra());
  document.begin_object("gres");
  document.text("total", offered(first.gres()));
  document.text("used", gres_used(first));
  document.end();
  document.begin_object("reason");
  const std::string reason_user = first.reason().empty() ? std::string() : user_name_of(first.reason_uid());
  document.integer("time", first.reason_time());
  document.text("description", first.reason());
  document.text("user", reason_user);
  document.end();
  document.text("reason_set_by_user", reason_user);
  document.text("reservation", first.reservation());
  describe_partition(document, "partition", *line.partition, context);
  document.end();
}

void describe_partition(Document& document, std::string_view key, const PartitionRecord& partition,
                        const DisplayContext& context) {
  const auto minutes = [&](std::string_view name, uint32_t value, bool unset) {
    document.number(name, unset ? std::nullopt : std::optional<int64_t>(value),
                    value == kUnlimited && !unset);
  };
  const auto memory = [&](std::string_view name, bool has, uint64_t value) {
    document.number(name, has ? std::optional<int64_t>(static_cast<int64_t>(value)) : std::nullopt);
  };
  document.begin_object(key);
  document.begin_object("nodes");
  document.text("allowed_allocation", "");
  document.text("configured", partition.nodes());
  document.integer("total", partition.total_nodes());
  document.end();
  document.begin_object("accounts");
  document.text("allowed", "");
  document.text("deny", "");
  document.end();
  document.begin_object("groups");
  document.text("allowed", "");
  document.end();
  document.begin_object("qos");
  document.text("allowed", "");
  document.text("deny", "");
  document.text("assigned", "");
  document.end();
  document.text("alternate", "");
  document.begin_object("tres");
  document.text("billing_weights", partition.billing_weights());
  text::TresAmounts total;
  total.cpus = total.billing.emplace(partition.total_cpus());
  total.memory_mib = partition.total_memory_mib();
  total.nodes = partition.total_nodes();
  total.gres.assign(partition.total_gres().begin(), partition.total_gres().end());
  std::string configured;
  append_tres(configured, total, text::TresOrder::kById, context);
  document.text("configured", configured);
  document.end();
  document.text("cluster", "");
  document.text("select_type", "NONE");
  document.text("flags", partition.is_default() ? "DEFAULT" : "");
  document.text("preempt_mode", "CLUSTER_GLOBAL");
  document.begin_object("cpus");
  document.integer("total", partition.total_cpus());
  document.end();
  document.begin_object("defaults");
  document.integer("memory_per_cpu", 0);
  memory("partition_memory_per_cpu", partition.has_default_mem_per_cpu_mib(),
         partition.default_mem_per_cpu_mib());
  memory("partition_memory_per_node", partition.default_mem_per_node_mib() != 0,
         partition.default_mem_per_node_mib());
  minutes("time", partition.default_time_minutes(), partition.default_time_minutes() == 0);
  document.text("job", "");
  document.end();
  document.integer("grace_time", 0);
  document.begin_object("maximums");
  document.number("cpus_per_node", 0, true);
  document.number("cpus_per_socket", 0, true);
  document.integer("memory_per_cpu", 0);
  document.number("partition_memory_per_cpu", std::nullopt);
  document.number("partition_memory_per_node", 0);
  minutes("nodes", partition.max_nodes(), false);
  const int64_t shares = context.release < kSlurm26 ? 1 : 0;
  document.integer("shares", shares);
  document.begin_object("oversubscribe");
  document.integer("jobs", shares);
  document.text("flags", "");
  document.end();
  minutes("time", partition.max_time_minutes(), false);
  document.number("over_time_limit", std::nullopt);
  document.end();
  document.begin_object("minimums");
  document.integer("nodes", partition.min_nodes());
  document.end();
  document.text("name", partition.name());
  document.text("node_sets", "");
  document.begin_object("priority");
  document.integer("job_factor", partition.priority_job_factor());
  document.integer("tier", partition.priority_tier());
  document.end();
  document.begin_object("timeouts");
  document.number("resume", std::nullopt);
  document.number("suspend", std::nullopt);
  document.end();
  document.begin_object("partition");
  document.text("exclusive", partition.exclusive() ? "NODE" : "NO");
  document.text("oversubscribe", "NO");
  document.begin_array("state");
  document.text(partition.state());
  document.end();
  document.end();
  document.number("suspend_time", std::nullopt);
  document.end();
}

}  // namespace minke::view
