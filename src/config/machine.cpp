#include "config/machine.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "config/table.h"
#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"
#include "model/shards.h"
#include "sched/layout.h"
#include "text/duration.h"
#include "text/gres_count.h"
#include "text/hostlist.h"
#include "text/number.h"
#include "text/tres.h"

namespace minke::config {

namespace {

Status too_many(const std::string& devices, uint32_t most = sched::MachineLayout::kMaxDevices) {
  return failure("a node can have " + std::to_string(most) + " " + devices + " at most");
}

}  // namespace

// Adds shards of all virtual GPUs; for real ones those of one, until the number of GPUs is known.
Status add_shards(model::NodeRecord& node, uint32_t each) {
  uint32_t gpus = 0;
  for (const model::Gres& gres : node.gres()) {
    if (gres.name() == "shard") return {};
    gpus += gres.name() == "gpu" ? gres.count() : 0;
  }
  if (each == 0) return {};
  if (each * std::max(1U, gpus) > sched::MachineLayout::kMaxDevices) return too_many("shards");
  model::Gres& gres = *node.add_gres();
  gres.set_name("shard");
  gres.set_count(each * std::max(1U, gpus));
  return {};
}

Status add_virtual_gres(model::NodeRecord& node, const std::vector<model::Gres>& offered) {
  for (const model::Gres& gres : offered) *node.add_gres() = gres;
  uint64_t gpus = 0;
  uint64_t shards = 0;
  for (const model::Gres& gres : node.gres()) {
    if (gres.name() == "gpu") gpus += gres.count();
    if (gres.name() == "shard") shards += gres.count();
  }
  if (gpus > sched::MachineLayout::kMaxDevices) return too_many("GPUs");
  if (shards > sched::MachineLayout::kMaxDevices) return too_many("shards");
  if (node.gres_size() > static_cast<int>(sched::MachineLayout::kMaxPoolsPerNode))
    return failure("a node can have 16 kinds of GRES at most");
  node.set_virtual_gres(true);
  return {};
}

bool is_only_counted(const model::Gres& gres) {
  return gres.name() != "gpu" && gres.name() != "shard";
}

void keep_counted_gres(model::NodeRecord& node) {
  google::protobuf::RepeatedPtrField<model::Gres> kept;
  for (const model::Gres& gres : node.gres())
    if (is_only_counted(gres)) *kept.Add() = gres;
  node.mutable_gres()->Swap(&kept);
}

Status add_counted_gres(model::NodeRecord& node, const std::vector<model::Gres>& offered) {
  for (const model::Gres& gres : offered) {
    uint64_t of_name = gres.count();
    for (const model::Gres& there : node.gres())
      if (there.name() == gres.name()) of_name += there.count();
    if (of_name > sched::MachineLayout::kMaxUnits)
      return too_many(gres.name(), sched::MachineLayout::kMaxUnits);
    *node.add_gres() = gres;
  }
  if (node.gres_size() > static_cast<int>(sched::MachineLayout::kMaxPoolsPerNode))
    return failure("a node can have 16 kinds of GRES at most");
  return {};
}

model::PartitionRecord default_partition() {
  model::PartitionRecord partition;
  partition.set_nodes("ALL");
  partition.set_state("UP");
  partition.set_max_time_minutes(text::kUnlimited);
  partition.set_max_nodes(text::kUnlimited);
  partition.set_priority_tier(1);
  partition.set_priority_job_factor(1);
  partition.set_oversubscribe("NO");
  return partition;
}

namespace {

// The values of one [[node]]: of one node, or of several alike.
struct NodeTable {
  std::vector<std::string> names;
  model::NodeRecord node;  // the template of each, except its name
  uint32_t shards_per_gpu = 0;
  std::vector<uint32_t> real_gpus;  // of all of them, by nvidia-smi's numbers
};

// Reports the first of several mistakes, in the order of the keys here and below.
void read_size(Table& table, NodeTable& given) {
  model::NodeRecord& node = given.node;
  bool layout_given = false;
  table.text("name", [&](const std::string& list) -> Status {
    auto expanded = text::expand_hostlist(list);
    if (!expanded) return failure(expanded.error());
    given.names = std::move(*expanded);
    return {};
  });
  table.number("cpus", 1, 65536, [&](int64_t value) {
    node.set_cpus(static_cast<uint32_t>(value));
    layout_given = true;
  });
  if (layout_given) {
    // One socket of single-threaded cores, unless said otherwise.
    node.set_sockets(1);
    node.set_threads_per_core(1);
    node.set_cores_per_socket(node.cpus());
  }
  table.number("sockets", 1, 1024, [&](int64_t value) { node.set_sockets(static_cast<uint32_t>(value)); });
  table.number("cores_per_socket", 1, 65536,
               [&](int64_t value) { node.set_cores_per_socket(static_cast<uint32_t>(value)); });
  table.number("threads_per_core", 1, 64,
               [&](int64_t value) { node.set_threads_per_core(static_cast<uint32_t>(value)); });
  table.mib("memory", [&](uint64_t value) { node.set_memory_mib(value); });
  table.mib("tmp_disk", [&](uint64_t value) { node.set_tmp_disk_mib(value); });
  table.number("weight", 0, 0xfffffffe,
               [&](int64_t value) { node.set_weight(static_cast<uint32_t>(value)); });
  table.texts("features", [&](const std::string& feature) -> Status {
    node.add_features(feature);
    return {};
  });
}

void read_gpus(Table& table, NodeTable& given) {
  bool is_virtual = false;
  table.texts("gpus", [&](const std::string& text) -> Status {
    // "2", "a100:4"
    auto parsed = text::parse_gpu_list(text);
    if (!parsed) return failure(parsed.error());
    if (!is_virtual) given.node.clear_gres();
    is_virtual = true;
    return add_virtual_gres(given.node, *parsed);
  });
  table.number("shards_per_gpu", 1, model::kShardsOfGpu,
               [&](int64_t value) { given.shards_per_gpu = static_cast<uint32_t>(value); });
  // "nic:2", "fpga:u250:1"
  table.texts("gres", [&](const std::string& text) -> Status {
    const auto parsed = text::parse_gres_list(text);
    if (!parsed) return failure(parsed.error());
    if (!std::all_of(parsed->begin(), parsed->end(), is_only_counted))
      return failure("is for other names: gpus and shards_per_gpu give a node GPUs and shards");
    return add_counted_gres(given.node, *parsed);
  });
  table.text("gpu_devices", [&](const std::string& text) -> Status {
    if (is_virtual) return failure("does not go together with gpus, which are virtual");
    auto expanded = text::expand_hostlist("[" + text + "]");
    if (!expanded) return failure("must be numbers of GPUs, as nvidia-smi counts them: \"0-3\"");
    for (const std::string& number : *expanded)
      given.real_gpus.push_back(static_cast<uint32_t>(std::atoi(number.c_str())));
    if (!given.names.empty() && given.real_gpus.size() % given.names.size() != 0)
      return failure("cannot be dealt out evenly to " + std::to_string(given.names.size()) + " nodes");
    return {};
  });
}

// The values of one [[partition]].
struct PartitionTable {
  std::string name, nodes = "ALL", state = "UP";
  model::PartitionRecord record = default_partition();
  std::vector<std::string> serves;
  bool share_per_gpu = false;
  accounts::TresWeights weights;
};

// Reports the first of several mistakes, in the order of the keys here and below.
void read_members(Table& table, PartitionTable& given) {
  model::PartitionRecord& partition = given.record;
  table.text("name", given.name);
  table.text("nodes", given.nodes);
  table.boolean("default", [&](bool value) { partition.set_is_default(value); });
  table.boolean("offline", [&](bool value) { partition.set_offline(value); });
  table.boolean("share_per_gpu", [&](bool value) { given.share_per_gpu = value; });
  table.boolean("hidden", [&](bool value) { partition.set_hidden(value); });
  table.boolean("exclusive", [&](bool value) {
    partition.set_exclusive(value);
    if (value) partition.set_oversubscribe("EXCLUSIVE");
  });
}

// Reads the limits of its jobs, and their rank.
void read_limits(Table& table, model::PartitionRecord& partition) {
  table.minutes("max_time", [&](uint32_t value) { partition.set_max_time_minutes(value); });
  table.minutes("default_time", [&](uint32_t value) { partition.set_default_time_minutes(value); });
  table.number("max_nodes", 1, 65536,
               [&](int64_t value) { partition.set_max_nodes(static_cast<uint32_t>(value)); });
  table.number("min_nodes", 0, 65536,
               [&](int64_t value) { partition.set_min_nodes(static_cast<uint32_t>(value)); });
  table.number("max_cpus_per_node", 1, 65536,
               [&](int64_t value) { partition.set_max_cpus_per_node(static_cast<uint32_t>(value)); });
  table.number("max_cpus_per_socket", 1, 65535,
               [&](int64_t value) { partition.set_max_cpus_per_socket(static_cast<uint32_t>(value)); });
  table.boolean("least_loaded_node", [&](bool value) { partition.set_least_loaded_node(value); });
  table.boolean("exclusive_user", [&](bool value) { partition.set_exclusive_user(value); });
  table.text("qos", [&](const std::string& value) -> Status {
    partition.set_qos(text::lower_case(value));
    return {};
  });
  table.number("priority_tier", 0, 65533,
               [&](int64_t value) { partition.set_priority_tier(static_cast<uint32_t>(value)); });
  table.number("default_cpus_per_gpu", 1, 65536,
               [&](int64_t value) { partition.set_default_cpus_per_gpu(static_cast<uint32_t>(value)); });
  table.mib("default_mem_per_gpu", [&](uint64_t value) { partition.set_default_mem_per_gpu_mib(value); });
  table.mib("default_mem_per_cpu", [&](uint64_t value) { partition.set_default_mem_per_cpu_mib(value); });
  table.mib("default_mem_per_node", [&](uint64_t value) { partition.set_default_mem_per_node_mib(value); });
  table.mib("max_mem_per_cpu", [&](uint64_t value) { partition.set_max_mem_per_cpu_mib(value); });
  table.mib("max_mem_per_node", [&](uint64_t value) { partition.set_max_mem_per_node_mib(value); });
  table.minutes("over_time_limit", [&](uint32_t value) { partition.set_over_time_limit_minutes(value); });
  table.number("priority_job_factor", 0, 65533,
               [&](int64_t value) { partition.set_priority_job_factor(static_cast<uint32_t>(value)); });
  table.number("grace_time", 0, 86400,
               [&](int64_t value) { partition.set_grace_time_seconds(static_cast<uint32_t>(value)); });
  table.text("preempt_mode", [&](const std::string& mode) -> Status {
    if (!parse_preempt_mode(mode)) return failure("must be off, cancel, requeue or suspend");
    partition.set_preempt_mode(text::upper_case(mode));
    return {};
  });
}

// Reads who may use it: "a,b" is a list as well.
void read_admission(Table& table, model::PartitionRecord& partition) {
  const auto list = [&](std::string_view key, google::protobuf::RepeatedPtrField<std::string>& names) {
    table.texts(key, [&names](const std::string& given) -> Status {
      for (const std::string_view name : text::split(given, ',')) {
        if (text::trim(name).empty()) return failure("must be names");
        *names.Add() = text::trim(name);
      }
      return {};
    });
  };
  list("allow_accounts", *partition.mutable_allow_accounts());
  list("deny_accounts", *partition.mutable_deny_accounts());
  list("allow_groups", *partition.mutable_allow_groups());
  list("allow_qos", *partition.mutable_allow_qos());
  list("deny_qos", *partition.mutable_deny_qos());
}

// Reads whom it serves, at what price, and whether it does at all.
void read_service(Table& table, PartitionTable& given) {
  table.texts("serves", [&](const std::string& kind) -> Status {
    if (kind != "cpu" && kind != "gpu" && kind != "whole" && kind != "interactive")
      return failure("must be of cpu, gpu, whole and interactive");
    given.serves.push_back(kind);
    return {};
  });
  table.text("billing_weights", [&](const std::string& weights) -> Status {
    auto parsed = accounts::parse_tres_weights(weights);
    if (!parsed) return failure(parsed.error());
    given.weights = std::move(*parsed);
    given.record.set_billing_weights(weights);
    return {};
  });
  table.text("billing_rule", [&](const std::string& rule) -> Status {
    if (rule != "sum" && rule != "max") return failure("must be sum or max");
    given.weights.maximum = rule == "max";
    return {};
  });
  table.text("state", [&](const std::string& state) -> Status {
    if (state != "UP" && state != "DOWN" && state != "DRAIN" && state != "INACTIVE")
      return failure("must be UP, DOWN, DRAIN or INACTIVE");
    given.state = state;
    return {};
  });
}

Result<std::vector<std::string>> nodes_of(const PartitionTable& given, const Configuration& config) {
  std::vector<std::string> members;
  if (given.nodes == "ALL") {
    for (const auto& node : config.nodes) members.push_back(node.name());
    return members;
  }
  auto expanded = text::expand_hostlist(given.nodes);
  if (!expanded) return failure(expanded.error().message);
  for (const std::string& member : *expanded) {
    if (std::none_of(config.nodes.begin(), config.nodes.end(),
                     [&](const auto& node) { return node.name() == member; }))
      return failure("partition " + given.name + " names node " + member + ", which no [[node]] declares");
  }
  return expanded;
}

std::string where(const toml::table& table, const std::string& path) {
  return path + ":" + std::to_string(table.source().begin.line) + ": ";
}

}  // namespace

Status read_node(const toml::table& from, const std::string& path, const model::NodeRecord& machine,
                 Configuration& config) {
  Table table(from, path, "[[node]]");
  NodeTable given;
  given.node = machine;
  given.node.clear_features();
  read_size(table, given);
  read_gpus(table, given);
  if (const Status finished = table.finish(); !finished) return finished;
  if (given.names.empty()) return failure(where(from, path) + "a [[node]] needs a name");
  if (const Status added = add_shards(given.node, given.shards_per_gpu); !added)
    return failure(where(from, path) + added.error().message);
  const auto gpus_each = static_cast<ptrdiff_t>(given.real_gpus.size() / given.names.size());
  auto next_gpu = given.real_gpus.begin();
  for (const std::string& name : given.names) {
    if (gpus_each != 0) config.gpus_of_nodes[name] = {next_gpu, next_gpu + gpus_each};
    next_gpu += gpus_each;
    model::NodeRecord& node = config.nodes.emplace_back(given.node);
    node.set_name(name);
    // Its processes are this machine's: clients must reach it, with or without a name service.
    node.set_address(name == machine.name() ? name : "127.0.0.1");
    node.set_is_virtual(name != machine.name());
  }
  return {};
}

Status read_partition(const toml::table& from, const std::string& path, Configuration& config) {
  Table table(from, path, "[[partition]]");
  PartitionTable given;
  read_members(table, given);
  read_limits(table, given.record);
  read_admission(table, given.record);
  read_service(table, given);
  if (const Status finished = table.finish(); !finished) return finished;
  if (given.name.empty() || given.name.find_first_of(", \t") != std::string::npos)
    return failure(where(from, path) + "a [[partition]] needs a name without commas and spaces");
  const auto members = nodes_of(given, config);
  if (!members) return failure(where(from, path) + members.error().message);
  for (const auto& other : config.partitions) {
    if (other.name() == given.name)
      return failure(where(from, path) + "there are two partitions " + given.name);
  }
  if (!given.weights.empty()) config.billing.emplace_back(given.name, std::move(given.weights));
  if (given.share_per_gpu) config.shared_by_gpu.insert(given.name);
  if (!given.serves.empty()) config.serves[given.name] = std::move(given.serves);
  given.record.set_name(given.name);
  given.record.set_state(given.state);
  given.record.set_nodes(text::compress_hostlist_sorted(*members));
  config.partitions.push_back(std::move(given.record));
  return {};
}

void set_shares_of_gpus(Configuration& config) {
  for (model::PartitionRecord& partition : config.partitions) {
    const auto members = text::expand_hostlist(partition.nodes());
    if (!config.shared_by_gpu.contains(partition.name()) || !members) continue;
    uint64_t cpus = std::numeric_limits<uint32_t>::max(), mib = std::numeric_limits<uint64_t>::max();
    for (const model::NodeRecord& node : config.nodes) {
      if (std::find(members->begin(), members->end(), node.name()) == members->end()) continue;
      const uint64_t gpus = text::gpus_in(node.gres());
      if (gpus == 0) continue;
      cpus = std::min(cpus, std::max<uint64_t>(1, node.cpus() / gpus));
      mib = std::min(mib, node.memory_mib() / gpus);
    }
    if (mib == std::numeric_limits<uint64_t>::max()) continue;  // it has no GPUs
    if (!partition.has_default_cpus_per_gpu())
      partition.set_default_cpus_per_gpu(static_cast<uint32_t>(cpus));
    if (!partition.has_default_mem_per_gpu_mib()) partition.set_default_mem_per_gpu_mib(mib);
  }
}

Status check_machine(const Configuration& config) {
  std::vector<sched::PartitionNodes> partitions;
  for (const model::PartitionRecord& partition : config.partitions)
    if (auto names = text::expand_hostlist(partition.nodes()))
      partitions.push_back({partition.name(), std::move(*names)});
  const auto layout = sched::MachineLayout::build(config.nodes, partitions, {});
  if (layout) return {};
  const std::string& file = config.slurm_conf.empty() ? config.source_path : config.slurm_conf;
  return failure(file + ": " + layout.error().message);
}

}  // namespace minke::config
