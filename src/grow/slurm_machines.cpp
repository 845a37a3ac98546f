// slurm.conf and gres.conf: which machines there are, and the partitions of them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "grow/conf_edit.h"
#include "grow/slurm_files.h"
#include "text/hostlist.h"
#include "text/number.h"
#include "view/slurm_conf_lines.h"

namespace minke::grow {
namespace {

using config::Configuration;
using model::NodeRecord;
using model::PartitionRecord;

// The number of a kernel's memory differs a little from boot to boot; a node with less than its
// RealMemory would be drained.
uint64_t dependable_memory(uint64_t mib) {
  return mib < 1024 ? mib : (mib - mib / 100) / 16 * 16;
}

const NodeRecord* own_node(const Configuration& config) {
  for (const NodeRecord& node : config.nodes)
    if (!node.is_virtual()) return &node;
  return nullptr;
}

std::vector<const Machine*> computing(const Grown& grown) {
  std::vector<const Machine*> machines;
  for (const Machine& machine : grown.machines)
    if (!machine.is_head() || grown.head_computes) machines.push_back(&machine);
  return machines;
}

NodeRecord node_of(const Machine& machine, const NodeRecord* own, Notes& notes) {
  NodeRecord node;
  node.set_sockets(std::max(1U, machine.sockets));
  node.set_cores_per_socket(std::max(1U, machine.cores_per_socket()));
  node.set_threads_per_core(std::max(1U, machine.threads_per_core()));
  node.set_memory_mib(dependable_memory(machine.memory_mib));
  node.set_tmp_disk_mib(machine.tmp_mib);
  node.set_weight(1);
  if (machine.is_head() && own != nullptr) {
    node.set_memory_mib(std::min(own->memory_mib(), node.memory_mib()));
    node.set_weight(own->weight() == 0 ? 1 : own->weight());
    *node.mutable_features() = own->features();
  }
  std::map<std::string, uint32_t> counts;
  for (const Gpu& gpu : machine.gpus) {
    if (gpu.partitioned && gpu.instances.empty())
      notes.push_back(
          machine.name + ": " + gpu.device +
          " is in MIG mode without an instance: it is not offered. nvidia-smi mig -cgi makes some");
    for (const std::string& type : gpu.offered()) ++counts[type];
  }
  for (const auto& [type, count] : counts) {
    model::Gres& gres = *node.add_gres();
    gres.set_name("gpu");
    gres.set_type(type);
    gres.set_count(count);
  }
  return node;
}

bool has_gpus(const NodeRecord& node) {
  return std::any_of(node.gres().begin(), node.gres().end(),
                     [](const model::Gres& gres) { return gres.name() == "gpu" && gres.count() > 0; });
}

// The machines of a partition of Minke's. Its nodes were one machine, or parts of it that exist no more: of
// all nodes become all machines; of those with GPUs alone, the machines that have any.
std::vector<std::string> machines_of(const PartitionRecord& partition, const Configuration& config,
                                     const Grown& grown, Notes& notes) {
  const auto named = text::expand_hostlist(partition.nodes());
  const std::set<std::string> nodes(named ? named->begin() : std::vector<std::string>::const_iterator(),
                                    named ? named->end() : std::vector<std::string>::const_iterator());
  const bool all = partition.nodes() == "ALL" ||
                   std::all_of(config.nodes.begin(), config.nodes.end(),
                               [&](const NodeRecord& node) { return nodes.contains(node.name()); });
  bool with_gpus = !all && !nodes.empty();
  for (const NodeRecord& node : config.nodes)
    if (nodes.contains(node.name()) && !has_gpus(node)) with_gpus = false;
  std::vector<std::string> names;
  for (const Machine* machine : computing(grown))
    if (!with_gpus || !machine->gpus.empty()) names.push_back(machine->name);
  if (names.empty())
    for (const Machine* machine : computing(grown)) names.push_back(machine->name);
  if (!all)
    notes.push_back(fmt::format("partition {} had the nodes {} of one machine; it gets {}", partition.name(),
                                partition.nodes(), text::compress_hostlist_sorted(names)));
  return names;
}

// Billing weights in Slurm's words, where Minke's have others ("rgu:NAME").
// Slurm refuses types of GPUs that no machine has.
std::string billing_words(const accounts::TresWeights& weights, const Grown& grown) {
  std::string out;
  const auto is_there = [&](std::string_view type) {
    for (const Machine& machine : grown.machines)
      for (const Gpu& gpu : machine.gpus)
        for (const std::string& offered : gpu.offered())
          if (offered == type) return true;
    return false;
  };
  constexpr std::string_view kTyped = "gres/gpu:";
  for (const auto& [name, weight] : weights.each)
    if (!name.starts_with(kTyped) || is_there(std::string_view(name).substr(kTyped.size())))
      out += fmt::format("{}{}={}", out.empty() ? "" : ",", name, weight);
  return out;
}

}  // namespace

bool have_control_groups(const std::vector<Machine>& machines) {
  return std::all_of(machines.begin(), machines.end(), [](const Machine& machine) {
    return machine.control_groups == 2 && machine.services == "systemd";
  });
}

std::string node_lines(const Configuration& config, const Grown& grown, Notes& notes) {
  std::string out;
  const NodeRecord* own = own_node(config);
  for (const Machine* machine : computing(grown)) {
    const std::string address =
        machine->address.empty() || machine->address == machine->name ? "" : " NodeAddr=" + machine->address;
    fmt::format_to(std::back_inserter(out), "NodeName={}{} {} State=UNKNOWN\n", machine->name, address,
                   view::node_properties(node_of(*machine, own, notes)));
  }
  std::vector<std::string> gone;
  for (const NodeRecord& node : config.nodes)
    if (node.is_virtual()) gone.push_back(node.name());
  if (!gone.empty())
    notes.push_back("the nodes " + text::compress_hostlist_sorted(gone) +
                    " were counted on this machine only, and do not exist any more; nor do their GPUs");
  return out;
}

std::string partition_lines(const Configuration& config, const Grown& grown, Notes& notes) {
  std::string out;
  for (PartitionRecord partition : grown.partitions) {
    partition.set_nodes(text::compress_hostlist_sorted(machines_of(partition, config, grown, notes)));
    const auto weights = std::find_if(config.billing.begin(), config.billing.end(),
                                      [&](const auto& one) { return one.first == partition.name(); });
    if (weights != config.billing.end()) partition.set_billing_weights(billing_words(weights->second, grown));
    if (partition.offline())
      notes.push_back(
          "partition " + partition.name() +
          " was offline by Minke: in Slurm its jobs reach the machines of the cluster, and no others; so do "
          "other jobs of the same user on that node meanwhile (nftables)");
    partition.set_state("UP");
    view::append_partition_line(out, partition);
  }
  return out;
}

// A file of the site's is taken if it is about these machines; else the switches that the machines name.
std::string topology_conf(const Grown& grown, Notes& notes) {
  const std::string mark = fmt::format("{}: topology.conf. The same on all machines.\n", kMark);
  std::set<std::string> names;
  for (const Machine* machine : computing(grown)) names.insert(machine->name);
  if (!grown.topology.empty()) {
    const std::vector<std::string> known = topology_nodes(grown.topology);
    if (std::set<std::string>(known.begin(), known.end()) == names) return mark + grown.topology;
    notes.push_back("topology.conf of Minke's names " + text::compress_hostlist_sorted(known) +
                    ", which are not these machines: it is not carried");
  }
  std::map<std::string, std::vector<std::string>> switches;
  for (const Machine* machine : computing(grown)) switches[machine->network_switch].push_back(machine->name);
  if (switches.size() < 2) return {};  // behind one all are near
  if (const auto unknown = switches.find(""); unknown != switches.end()) {
    notes.push_back("which switch " + text::compress_hostlist_sorted(unknown->second) +
                    " has is not known (lldpd tells it): there is no topology.conf");
    return {};
  }
  std::string out = mark, all;
  for (const auto& [name, machines] : switches) {
    out += fmt::format("SwitchName={} Nodes={}\n", name, text::compress_hostlist_sorted(machines));
    all += (all.empty() ? "" : ",") + name;
  }
  return out + "SwitchName=minke-top Switches=" + all + "\n";
}

std::string gres_conf(const Grown& grown) {
  std::string out;
  for (const Machine* machine : computing(grown)) {
    for (const Gpu& gpu : machine->gpus) {
      const auto line = [&](const std::string& type, std::string_view key, const std::string& files) {
        fmt::format_to(std::back_inserter(out), "NodeName={} Name=gpu Type={} {}={}\n", machine->name, type,
                       key, files);
      };
      if (!gpu.partitioned) line(gpu.type, "File", gpu.device);
      for (const MigInstance& one : gpu.instances)
        line(gpu.type + "_" + one.profile, "MultipleFiles",
             gpu.device + "," + one.gpu_instance + "," + one.compute_instance);
    }
  }
  return out.empty() ? out : fmt::format("{}: gres.conf. The same on all machines.\n", kMark) + out;
}

}  // namespace minke::grow
