// Assigns the machine's GPUs to nodes.
#include <algorithm>

#include "config/configuration.h"
#include "config/machine.h"
#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"
#include "node/gpus.pb.h"
#include "sched/layout.h"

namespace minke::config {

namespace {

using model::GpuDevice;
using model::NodeRecord;

// Devices of one type are adjacent, as in gres, whose numbers then are positions in `gpu_devices`.
void give(NodeRecord& node, std::vector<GpuDevice> devices, std::string& problem) {
  std::vector<std::string> types;
  for (const GpuDevice& device : devices) {
    if (std::find(types.begin(), types.end(), device.type()) == types.end()) types.push_back(device.type());
  }
  uint32_t shards = 0;  // of each, as configured while the GPUs are not known
  for (const model::Gres& gres : node.gres()) shards += gres.name() == "shard" ? gres.count() : 0;
  keep_counted_gres(node);
  for (const std::string& type : types) {
    model::Gres& gres = *node.add_gres();
    gres.set_name("gpu");
    gres.set_type(type);
    for (const GpuDevice& device : devices) {
      if (device.type() != type) continue;
      *node.add_gpu_devices() = device;
      gres.set_count(gres.count() + 1);
    }
  }
  if (shards == 0 || devices.empty()) return;
  if (shards * devices.size() > sched::MachineLayout::kMaxDevices) {
    problem = "node " + node.name() + ": no shards, for a node can have " +
              std::to_string(sched::MachineLayout::kMaxDevices) + " at most";
    return;
  }
  model::Gres& gres = *node.add_gres();
  gres.set_name("shard");
  gres.set_count(shards * static_cast<uint32_t>(devices.size()));
}

}  // namespace

void give_gpus(Configuration& config, const node::GpuReport& machine) {
  if (!machine.no_library()) config.gpu_problem = machine.problem();
  std::vector<GpuDevice> all;
  for (const node::GpuReading& reading : machine.readings()) {
    if (reading.problem().empty()) {
      all.push_back(reading.device());
      continue;
    }
    config.gpu_problem += (config.gpu_problem.empty() ? "GPU " : ", GPU ") +
                          std::to_string(reading.device().number()) + ": " + reading.problem();
  }
  if (all.size() > sched::MachineLayout::kMaxDevices) {
    config.gpu_problem =
        "only the first " + std::to_string(sched::MachineLayout::kMaxDevices) + " GPU devices are used";
    all.resize(sched::MachineLayout::kMaxDevices);
  }
  if (config.gpus_of_nodes.empty()) {
    if (all.empty()) return;
    const auto is_free = [](const NodeRecord& node) { return !node.virtual_gres(); };
    auto node = std::find_if(config.nodes.begin(), config.nodes.end(),
                             [&](const NodeRecord& one) { return is_free(one) && !one.is_virtual(); });
    if (node == config.nodes.end()) node = std::find_if(config.nodes.begin(), config.nodes.end(), is_free);
    if (node != config.nodes.end()) give(*node, std::move(all), config.gpu_problem);
    return;
  }
  for (NodeRecord& node : config.nodes) {
    const auto wanted = config.gpus_of_nodes.find(node.name());
    if (wanted == config.gpus_of_nodes.end()) continue;
    std::vector<GpuDevice> devices;
    for (const uint32_t number : wanted->second) {
      const size_t before = devices.size();
      std::copy_if(all.begin(), all.end(), std::back_inserter(devices),
                   [&](const GpuDevice& device) { return device.number() == number; });
      // A GPU that is missing now is not offered; the node stays.
      if (devices.size() == before && config.gpu_problem.empty())
        config.gpu_problem =
            "node " + node.name() + " is to have GPU " + std::to_string(number) + ", which is not there";
    }
    give(node, std::move(devices), config.gpu_problem);
  }
}

}  // namespace minke::config
