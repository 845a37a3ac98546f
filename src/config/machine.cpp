#include "config/machine.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "config/table.h"
#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"
#include "sched/layout.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/number.h"
#include "text/tres.h"

namespace minke::config {

// Of GPUs that are virtual all of them; of others those of one, until it is known how many GPUs there are.
Status add_shards(model::NodeRecord& node, uint32_t each) {
  uint32_t gpus = 0;
  for (const model::Gres& gres : node.gres()) {
    if (gres.name() == "shard") return {};
    gpus += gres.name() == "gpu" ? gres.count() : 0;
  }
  if (each == 0) return {};
  if (each * std::max(1U, gpus) > sched::MachineLayout::kMaxDevices)
    return failure("a node can have 64 shards at most");
  model::Gres& gres = *node.add_gres();
  gres.set_name("shard");
  gres.set_count(each * std::max(1U, gpus));
  return {};
}

Status add_virtual_gres(model::NodeRecord& node, const std::vector<model::Gres>& offered) {
  for (const model::Gres& gres : offered) *node.add_gres() = gres;
  uint32_t count = 0;
  for (const model::Gres& gres : node.gres()) count += gres.count();
  if (count > sched::MachineLayout::kMaxDevices) return failure("a node can have 64 GPUs at most");
  if (node.gres_size() > static_cast<int>(sched::MachineLayout::kMaxPoolsPerNode))
    return failure("a node can have 16 types of GPU at most");
  node.set_virtual_gres(true);
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

Status read_node(const toml::table& from, const std::string& path, const model::NodeRecord& machine,
                 Configuration& config) {
  Table table(from, path, "[[node]]");
  model::NodeRecord node = machine;
  std::vector<std::string> names;
  node.clear_features();
  bool layout_given = false;
  table.text("name", [&](const std::string& list) -> Status {
    auto expanded = text::expand_hostlist(list);
    if (!expanded) return failure(expanded.error());
    names = std::move(*expanded);
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
  bool gpus_given = false;
  table.texts("gpus", [&](const std::string& given) -> Status {
    // "2", "a100:4"
    auto parsed = text::parse_gpu_list(given);
    if (!parsed) return failure(parsed.error());
    if (!gpus_given) node.clear_gres();
    gpus_given = true;
    return add_virtual_gres(node, *parsed);
  });
  uint32_t shards = 0;
  table.number("shards_per_gpu", 1, sched::MachineLayout::kMaxDevices,
               [&](int64_t value) { shards = static_cast<uint32_t>(value); });
  std::vector<uint32_t> real_gpus;
  table.text("gpu_devices", [&](const std::string& given) -> Status {
    if (gpus_given) return failure("does not go together with gpus, which are virtual");
    auto expanded = text::expand_hostlist("[" + given + "]");
    if (!expanded) return failure("must be numbers of GPUs, as nvidia-smi counts them: \"0-3\"");
    for (const std::string& number : *expanded)
      real_gpus.push_back(static_cast<uint32_t>(std::atoi(number.c_str())));
    if (!names.empty() && real_gpus.size() % names.size() != 0)
      return failure("cannot be dealt out evenly to " + std::to_string(names.size()) + " nodes");
    return {};
  });
  if (const Status finished = table.finish(); !finished) return finished;
  if (names.empty()) {
    return failure(path + ":" + std::to_string(from.source().begin.line) + ": a [[node]] needs a name");
  }
  if (const Status added = add_shards(node, shards); !added)
    return failure(path + ":" + std::to_string(from.source().begin.line) + ": " + added.error().message);
  const size_t gpus_each = names.empty() ? 0 : real_gpus.size() / names.size();
  for (const std::string& name : names) {
    if (gpus_each != 0) {
      const auto first = real_gpus.begin() + static_cast<ptrdiff_t>((&name - names.data()) * gpus_each);
      config.gpus_of_nodes[name] = {first, first + static_cast<ptrdiff_t>(gpus_each)};
    }
    node.set_name(name);
    // Its processes are this machine's: whoever connects to it must be able to, name service or not.
    node.set_address(name == machine.name() ? name : "127.0.0.1");
    node.set_is_virtual(name != machine.name());
    config.nodes.push_back(node);
  }
  return {};
}

Status read_partition(const toml::table& from, const std::string& path, Configuration& config) {
  Table table(from, path, "[[partition]]");
  model::PartitionRecord partition = default_partition();
  std::string name, nodes = "ALL", state = "UP";
  table.text("name", name);
  table.text("nodes", nodes);
  table.boolean("default", [&](bool value) { partition.set_is_default(value); });
  table.boolean("offline", [&](bool value) { partition.set_offline(value); });
  table.boolean("hidden", [&](bool value) { partition.set_hidden(value); });
  table.boolean("exclusive", [&](bool value) {
    partition.set_exclusive(value);
    if (value) partition.set_oversubscribe("EXCLUSIVE");
  });
  table.minutes("max_time", [&](uint32_t value) { partition.set_max_time_minutes(value); });
  table.minutes("default_time", [&](uint32_t value) { partition.set_default_time_minutes(value); });
  table.number("max_nodes", 1, 65536,
               [&](int64_t value) { partition.set_max_nodes(static_cast<uint32_t>(value)); });
  table.number("min_nodes", 0, 65536,
               [&](int64_t value) { partition.set_min_nodes(static_cast<uint32_t>(value)); });
  table.number("max_cpus_per_node", 1, 65536,
               [&](int64_t value) { partition.set_max_cpus_per_node(static_cast<uint32_t>(value)); });
  table.boolean("exclusive_user", [&](bool value) { partition.set_exclusive_user(value); });
  table.text("qos", [&](const std::string& value) -> Status {
    partition.set_qos(text::lower_case(value));
    return {};
  });
  table.number("priority_tier", 0, 65533,
               [&](int64_t value) { partition.set_priority_tier(static_cast<uint32_t>(value)); });
  table.mib("default_mem_per_cpu", [&](uint64_t value) { partition.set_default_mem_per_cpu_mib(value); });
  table.mib("default_mem_per_node", [&](uint64_t value) { partition.set_default_mem_per_node_mib(value); });
  table.mib("max_mem_per_cpu", [&](uint64_t value) { partition.set_max_mem_per_cpu_mib(value); });
  table.mib("max_mem_per_node", [&](uint64_t value) { partition.set_max_mem_per_node_mib(value); });
  table.minutes("over_time_limit", [&](uint32_t value) { partition.set_over_time_limit_minutes(value); });
  table.number("priority_job_factor", 0, 65533,
               [&](int64_t value) { partition.set_priority_job_factor(static_cast<uint32_t>(value)); });
  table.number("grace_time", 0, 86400,
               [&](int64_t value) { partition.set_grace_time_seconds(static_cast<uint32_t>(value)); });
  table.text("preempt_mode", [&](const std::string& given) -> Status {
    if (!parse_preempt_mode(given)) return failure("must be off, cancel, requeue or suspend");
    partition.set_preempt_mode(text::upper_case(given));
    return {};
  });
  std::vector<std::string> serves;
  table.texts("serves", [&](const std::string& kind) -> Status {
    if (kind != "cpu" && kind != "gpu" && kind != "whole" && kind != "interactive")
      return failure("must be of cpu, gpu, whole and interactive");
    serves.push_back(kind);
    return {};
  });
  accounts::TresWeights weights;
  table.text("billing_weights", [&](const std::string& given) -> Status {
    auto parsed = accounts::parse_tres_weights(given);
    if (!parsed) return failure(parsed.error());
    weights = std::move(*parsed);
    partition.set_billing_weights(given);
    return {};
  });
  table.text("billing_rule", [&](const std::string& given) -> Status {
    if (given != "sum" && given != "max") return failure("must be sum or max");
    weights.maximum = given == "max";
    return {};
  });
  table.text("state", [&](const std::string& given) -> Status {
    if (given != "UP" && given != "DOWN" && given != "DRAIN" && given != "INACTIVE") {
      return failure("must be UP, DOWN, DRAIN or INACTIVE");
    }
    state = given;
    return {};
  });
  if (const Status finished = table.finish(); !finished) return finished;
  const std::string where = path + ":" + std::to_string(from.source().begin.line) + ": ";
  if (name.empty() || name.find_first_of(", \t") != std::string::npos) {
    return failure(where + "a [[partition]] needs a name without commas and spaces");
  }
  std::vector<std::string> members;
  if (nodes == "ALL") {
    for (const auto& node : config.nodes) members.push_back(node.name());
  } else {
    auto expanded = text::expand_hostlist(nodes);
    if (!expanded) return failure(where + expanded.error().message);
    members = std::move(*expanded);
  }
  for (const std::string& member : members) {
    if (std::none_of(config.nodes.begin(), config.nodes.end(),
                     [&](const auto& node) { return node.name() == member; })) {
      return failure(where + "partition " + name + " names node " + member + ", which no [[node]] declares");
    }
  }
  for (const auto& other : config.partitions) {
    if (other.name() == name) return failure(where + "there are two partitions " + name);
  }
  if (!weights.empty()) config.billing.emplace_back(name, std::move(weights));
  if (!serves.empty()) config.serves[name] = std::move(serves);
  partition.set_name(name);
  partition.set_state(state);
  partition.set_nodes(text::compress_hostlist_sorted(members));
  config.partitions.push_back(std::move(partition));
  return {};
}

}  // namespace minke::config
