// The fields of nodes and partitions that sinfo prints, each over all nodes of a line.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/version.h"
#include "model/cluster.pb.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "view/node_text.h"
#include "view/sinfo.h"

namespace minke::view {
namespace {

using Context = DisplayContext;
using model::NodeRecord;
using model::PartitionRecord;

void none(const NodeLine&, const Context&, std::string& out) {
  out += "(null)";
}
void no_reservation(const NodeLine& line, const Context& context, std::string& out) {
  if (context.release < kSlurm24) none(line, context, out);
}
void all(const NodeLine&, const Context&, std::string& out) {
  out += "all";
}
void no(const NodeLine&, const Context&, std::string& out) {
  out += "no";
}
void off(const NodeLine&, const Context&, std::string& out) {
  out += "OFF";
}
void unlimited(const NodeLine&, const Context&, std::string& out) {
  out += "UNLIMITED";
}
void zero(const NodeLine&, const Context&, std::string& out) {
  out += '0';
}

// The least of a number, with a "+" if another node has more.
void least(const NodeLine& line, std::string& out, auto number) {
  uint64_t low = UINT64_MAX;
  uint64_t high = 0;
  for (const NodeRecord* node : line.nodes) {
    low = std::min<uint64_t>(low, number(*node));
    high = std::max<uint64_t>(high, number(*node));
  }
  append_number(out, line.nodes.empty() ? 0 : static_cast<int64_t>(low));
  if (low < high) out += '+';
}
template <auto number>
void least_of(const NodeLine& line, const Context&, std::string& out) {
  least(line, out, [](const NodeRecord& node) { return (node.*number)(); });
}

// A value that all nodes of the line share.
template <const std::string& (NodeRecord::*text)() const>
void shared_text(const NodeLine& line, const Context&, std::string& out) {
  if (!line.nodes.empty()) append_or_null(out, (line.nodes.front()->*text)());
}
template <auto number>
void partition_number(const NodeLine& line, const Context&, std::string& out) {
  append_number(out, (line.partition->*number)());
}

bool is_busy(const NodeRecord& node) {
  NodeBaseState base = shown_state(node).base;
  return base == NodeBaseState::kAllocated || base == NodeBaseState::kMixed;
}
bool is_out(const NodeRecord& node) {
  return node.state() != model::NODE_IDLE && !is_busy(node);
}

void append_counts(const LineCounts& counts, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}/{}/{}/{}", counts.allocated, counts.idle, counts.other,
                 counts.total);
}

void available(const NodeLine& line, const Context&, std::string& out) {
  const std::string& state = line.partition->state();
  out += state == "DOWN" ? "down" : state == "DRAIN" ? "drain" : state == "INACTIVE" ? "inact" : "up";
}
void features(const NodeLine& line, const Context&, std::string& out) {
  if (line.nodes.empty() || line.nodes.front()->features().empty()) {
    out += "(null)";
    return;
  }
  const char* separator = "";
  for (const std::string& feature : line.nodes.front()->features()) {
    out += separator;
    out += feature;
    separator = ",";
  }
}
void free_memory(const NodeLine& line, const Context&, std::string& out) {
  uint64_t low = UINT64_MAX;
  uint64_t high = 0;
  for (const NodeRecord* node : line.nodes) {
    low = std::min(low, node->free_memory_mib());
    high = std::max(high, node->free_memory_mib());
  }
  if (line.nodes.empty()) {
    out += "N/A";
  } else if (low == high) {
    append_number(out, static_cast<int64_t>(low));
  } else {
    fmt::format_to(std::back_inserter(out), "{}-{}", low, high);
  }
}
void cpu_load(const NodeLine& line, const Context&, std::string& out) {
  if (line.nodes.empty()) {
    out += "N/A";
    return;
  }
  double low = line.nodes.front()->cpu_load();
  double high = low;
  for (const NodeRecord* node : line.nodes) {
    low = std::min(low, node->cpu_load());
    high = std::max(high, node->cpu_load());
  }
  std::string text = fmt::format("{:.2f}", low);
  std::string high_text = fmt::format("{:.2f}", high);
  out += text;
  if (high_text != text) out += "-" + high_text;
}
void oversubscribe(const NodeLine& line, const Context&, std::string& out) {
  out += line.partition->oversubscribe() == "EXCLUSIVE" || line.partition->exclusive() ? "EXCLUSIVE" : "NO";
}
void time_limit(const NodeLine& line, const Context&, std::string& out) {
  uint32_t minutes = line.partition->max_time_minutes();
  out += minutes == text::kUnlimited ? "infinite" : text::format_minutes_short(minutes);
}
void default_time(const NodeLine& line, const Context&, std::string& out) {
  uint32_t minutes = line.partition->default_time_minutes();
  out += minutes == 0                  ? "n/a"
         : minutes == text::kUnlimited ? "infinite"
                                       : text::format_minutes_short(minutes);
}
void host_name(const NodeLine& line, const Context&, std::string& out) {
  if (!line.nodes.empty()) out += host_name_of(*line.nodes.front());
}
void address(const NodeLine& line, const Context&, std::string& out) {
  if (!line.nodes.empty()) {
    const NodeRecord& node = *line.nodes.front();
    out += node.address().empty() ? node.name() : node.address();
  }
}
void job_size(const NodeLine& line, const Context&, std::string& out) {
  uint32_t low = std::max(1u, line.partition->min_nodes());
  uint32_t high = line.partition->max_nodes();
  append_number(out, low);
  if (high == kUnlimited) {
    out += "-infinite";
  } else if (high != low) {
    out += '-';
    append_number(out, high);
  }
}
void short_state(const NodeLine& line, const Context&, std::string& out) {
  out += line.nodes.empty() ? "n/a" : state_short(sinfo_state(*line.nodes.front()));
}
void long_state(const NodeLine& line, const Context&, std::string& out) {
  out += line.nodes.empty() ? "n/a" : state_long(sinfo_state(*line.nodes.front()));
}
void complete_state(const NodeLine& line, const Context&, std::string& out) {
  out += line.nodes.empty() ? "n/a" : state_complete(sinfo_state(*line.nodes.front()));
}
bool has_reason(const NodeLine& line) {
  return !line.nodes.empty() && !line.nodes.front()->reason().empty();
}
void reason(const NodeLine& line, const Context&, std::string& out) {
  out += has_reason(line) ? std::string_view(line.nodes.front()->reason()) : std::string_view("none");
}
void reason_user(const NodeLine& line, const Context&, std::string& out) {
  out += has_reason(line) ? user_name_of(line.nodes.front()->reason_uid()) : "Unknown";
}
void reason_user_long(const NodeLine& line, const Context&, std::string& out) {
  if (!has_reason(line)) {
    out += "Unknown";
    return;
  }
  uint32_t uid = line.nodes.front()->reason_uid();
  fmt::format_to(std::back_inserter(out), "{}({})", user_name_of(uid), uid);
}
void reason_time(const NodeLine& line, const Context& context, std::string& out) {
  append_time(out, has_reason(line) ? line.nodes.front()->reason_time() : 0, context, "Unknown");
}
void socket_core_thread(const NodeLine& line, const Context&, std::string& out) {
  least(line, out, [](const NodeRecord& node) { return node.sockets(); });
  out += ':';
  least(line, out, [](const NodeRecord& node) { return node.cores_per_socket(); });
  out += ':';
  least(line, out, [](const NodeRecord& node) { return node.threads_per_core(); });
}
void nodes_ai(const NodeLine& line, const Context&, std::string& out) {
  LineCounts counts = count_nodes(line);
  fmt::format_to(std::back_inserter(out), "{}/{}", counts.allocated, counts.idle);
}
void nodes_aiot(const NodeLine& line, const Context&, std::string& out) {
  append_counts(count_nodes(line), out);
}
void cpus_aiot(const NodeLine& line, const Context&, std::string& out) {
  append_counts(count_cpus(line), out);
}
void node_count(const NodeLine& line, const Context&, std::string& out) {
  append_number(out, static_cast<int64_t>(line.nodes.size()));
}
void gres(const NodeLine& line, const Context&, std::string& out) {
  if (line.nodes.empty()) {
    out += "(null)";
  } else {
    append_gres_offer(out, line.nodes.front()->gres());
  }
}
void gres_used(const NodeLine& line, const Context& context, std::string& out) {
  if (line.nodes.empty()) return;
  const NodeRecord& node = *line.nodes.front();
  if (node.gres().empty() && context.release >= kSlurm24) {
    out += "(null)";
  } else {
    append_gres_used(out, node);
  }
}
void node_list(const NodeLine& line, const Context&, std::string& out) {
  std::vector<std::string> names;
  for (const NodeRecord* node : line.nodes) names.push_back(node->name());
  out += text::compress_hostlist_sorted(std::move(names));
}
void partition(const NodeLine& line, const Context&, std::string& out) {
  out += line.partition->name();
  if (line.partition->is_default()) out += '*';
}
void partition_name(const NodeLine& line, const Context&, std::string& out) {
  out += line.partition->name();
}
void cluster(const NodeLine&, const Context& context, std::string& out) {
  out += context.cluster_name.empty() ? "N/A" : context.cluster_name;
}

constexpr Overflow kCut = Overflow::kCut;
constexpr Overflow kSpill = Overflow::kSpill;

constexpr TableField<NodeLine> kFields[] = {
    {'a', "available", "AVAIL", kCut, kCut, available},
    {'b', "features_act", "ACTIVE_FEATURES", kCut, kCut, features},
    {'c', "cpus", "CPUS", kCut, kCut, least_of<&NodeRecord::cpus>},
    {'d', "disk", "TMP_DISK", kCut, kCut, least_of<&NodeRecord::tmp_disk_mib>},
    {'e', "freemem", "FREE_MEM", kCut, kCut, free_memory},
    {'f', "features", "AVAIL_FEATURES", kCut, kCut, features},
    {'g', "groups", "GROUPS", kCut, kCut, all},
    {'h', "oversubscribe", "OVERSUBSCRIBE", kCut, kCut, oversubscribe},
    {'i', "reservation", "RESERVATION", kCut, kCut, no_reservation},
    {'l', "time", "TIMELIMIT", kCut, kCut, time_limit},
    {'m', "memory", "MEMORY", kCut, kCut, least_of<&NodeRecord::memory_mib>},
    {'n', "nodehost", "HOSTNAMES", kCut, kSpill, host_name},
    {'o', "nodeaddr", "NODE_ADDR", kCut, kSpill, address},
    {'p', "prioritytier", "PRIO_TIER", kCut, kCut, partition_number<&PartitionRecord::priority_tier>},
    {'r', "root", "ROOT", kCut, kCut, no},
    {'s', "size", "JOB_SIZE", kCut, kCut, job_size},
    {'t', "statecompact", "STATE", kCut, kCut, short_state},
    {'u', "user", "USER", kCut, kCut, reason_user},
    {'v', "version", "VERSION", kCut, kCut, shared_text<&NodeRecord::version>},
    {'w', "weight", "WEIGHT", kCut, kCut, least_of<&NodeRecord::weight>},
    {'z', "socketcorethread", "S:C:T", kCut, kCut, socket_core_thread},
    {'A', "nodeai", "NODES(A/I)", kCut, kCut, nodes_ai},
    {'B', "maxcpuspernode", "MAX_CPUS_PER_NODE", kCut, kCut, unlimited},
    {'C', "cpusstate", "CPUS(A/I/O/T)", kCut, kCut, cpus_aiot},
    {'D', "nodes", "NODES", kCut, kCut, node_count},
    {'E', "reason", "REASON", kCut, kCut, reason},
    {'F', "nodeaiot", "NODES(A/I/O/T)", kCut, kCut, nodes_aiot},
    {'G', "gres", "GRES", kCut, kCut, gres},
    {'H', "timestamp", "TIMESTAMP", kCut, kCut, reason_time},
    {'I', "priorityjobfactor", "PRIO_JOB_FACTOR", kCut, kCut,
     partition_number<&PartitionRecord::priority_job_factor>},
    {'L', "defaulttime", "DEFAULTTIME", kCut, kCut, default_time},
    {'M', "preemptmode", "PREEMPT_MODE", kCut, kCut, off},
    {'N', "nodelist", "NODELIST", kCut, kSpill, node_list},
    {'O', "cpusload", "CPU_LOAD", kCut, kCut, cpu_load},
    {'P', "partition", "PARTITION", Overflow::kCutBeforeStar, Overflow::kCutBeforeStar, partition},
    {'R', "partitionname", "PARTITION", kCut, kCut, partition_name},
    {'S', "allocnodes", "ALLOCNODES", kCut, kCut, all},
    {'T', "statelong", "STATE", kCut, kCut, long_state},
    {'U', "userlong", "USER", kCut, kCut, reason_user_long},
    {'V', "cluster", "CLUSTER", kCut, kCut, cluster},
    {'X', "sockets", "SOCKETS", kCut, kCut, least_of<&NodeRecord::sockets>},
    {'Y', "cores", "CORES", kCut, kCut, least_of<&NodeRecord::cores_per_socket>},
    {'Z', "threads", "THREADS", kCut, kCut, least_of<&NodeRecord::threads_per_core>},
    {'\0', "allocmem", "ALLOCMEM", kCut, kCut, least_of<&NodeRecord::allocated_memory_mib>},
    {'\0', "comment", "COMMENT", kCut, kCut, none},
    {'\0', "extra", "EXTRA", kCut, kCut, none},
    {'\0', "gresused", "GRES_USED", kCut, kCut, gres_used},
    {'\0', "port", "PORT", kCut, kCut, zero},
    {'\0', "share", "OVERSUBSCRIBE", kCut, kCut, oversubscribe},
    {'\0', "statecomplete", "STATECOMPLETE", kCut, kCut, complete_state},
};

}  // namespace

LineCounts count_nodes(const NodeLine& line) {
  LineCounts counts;
  for (const NodeRecord* node : line.nodes)
    ++(is_busy(*node) ? counts.allocated : is_out(*node) ? counts.other : counts.idle);
  counts.total = line.nodes.size();
  return counts;
}
LineCounts count_cpus(const NodeLine& line) {
  LineCounts counts;
  for (const NodeRecord* node : line.nodes) {
    uint64_t allocated = std::min(node->allocated_cpus(), node->cpus());
    counts.allocated += allocated;
    (node->state() == model::NODE_IDLE ? counts.idle : counts.other) += node->cpus() - allocated;
    counts.total += node->cpus();
  }
  return counts;
}

std::span<const TableField<NodeLine>> node_fields() {
  return kFields;
}

}  // namespace minke::view
