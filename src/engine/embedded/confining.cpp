#include "engine/embedded/confining.h"

#include <algorithm>
#include <set>

#include "engine/embedded/core.h"
#include "engine/embedded/job_environment.h"
#include "engine/embedded/launching.h"
#include "engine/embedded/nodes.h"
#include "engine/embedded/rights.h"
#include "engine/embedded/step_gpus.h"
#include "os/files.h"

namespace minke::engine {

using namespace model;

namespace {

// Device files of the machine's GPUs, but those of the job's.
std::set<std::string> hidden_files(const Core& core, const std::vector<GpuDevice>& own) {
  std::set<std::string> hidden;
  for (const NodeRecord& node : core.nodes->nodes()) {
    for (const GpuDevice& device : node.gpu_devices())
      hidden.insert(device.files().begin(), device.files().end());
  }
  for (const GpuDevice& device : own) {
    for (const std::string& file : device.files()) hidden.erase(file);
  }
  return hidden;
}

}  // namespace

std::vector<GpuDevice> gpu_devices_of(const Core& core, const Job& job) {
  std::vector<GpuDevice> devices;
  if (!job.details) return devices;
  for (const NodeAllocation& allocation : job.details->nodes) {
    const NodeRecord* node = core.nodes->find_node(allocation.node());
    if (node == nullptr) continue;
    for (const uint32_t index : gpu_numbers(allocation)) {
      if (index < static_cast<uint32_t>(node->gpu_devices_size()))
        devices.push_back(node->gpu_devices(static_cast<int>(index)));
    }
  }
  return devices;
}

bool is_offline(const Core& core, const Job& job) {
  const PartitionRecord* partition = core.nodes->find_partition(job.details->partition);
  return partition != nullptr && partition->offline();
}

void confine(const Core& core, const Job& job, node::LaunchOrder& order) {
  order.set_tmp_dir(core.launching->tmp_dir_of(job));
  core.rights->set_identity(job.uid, job.gid, order);
  order.set_job_memory_bytes(core.launching->memory_limit_of(job));
  order.set_job_pids(core.config.max_pids);
  if (core.config.bind_cpus) {
    for (const NodeAllocation& node : job.details->nodes) order.add_job_cpus(node.cpus());
  }
  order.set_offline(is_offline(core, job));
  if (order.offline() && !core.config.proxy.allowed().empty()) *order.mutable_proxy() = core.config.proxy;
  order.set_hosts(core.hosts_path);
  for (const std::string& file : hidden_files(core, gpu_devices_of(core, job)))
    order.add_hidden_devices(file);
}

std::string host_name_of(const Core& core, const std::string& node) {
  const NodeRecord* found = core.nodes->find_node(node);
  return found != nullptr && found->is_virtual() ? node : "";
}

Result<std::string> write_hosts(const Configuration& config) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  std::string names;
  for (const NodeRecord& node : config.nodes) {
    if (node.is_virtual()) names += "127.0.0.1\t" + node.name() + "\n";
  }
  const auto machine = os::read_file("/etc/hosts", kMostBytes);
  if (names.empty() || !machine) return std::string();
  const std::string path = config.home + "/hosts";
  if (const Status written = os::replace_file(path, *machine + "# the cluster's nodes\n" + names, 0644);
      !written)
    return failure(written.error());
  return path;
}

std::string visible_gpus(const Core& core, const Job& job, const std::string& node_name,
                         const std::vector<uint32_t>& indices) {
  const NodeRecord* node = core.nodes->find_node(node_name);
  if (node == nullptr || node->gpu_devices().empty()) return join_numbers(indices);
  std::set<uint32_t> numbers;  // of whole GPUs that the job can open
  if (core.launching->machine().hides_devices()) {
    for (const GpuDevice& device : gpu_devices_of(core, job)) numbers.insert(device.number());
  }
  std::string text;
  for (const uint32_t index : indices) {
    if (index >= static_cast<uint32_t>(node->gpu_devices_size()))
      continue;  // it was there when the job started
    const GpuDevice& device = node->gpu_devices(static_cast<int>(index));
    const auto position = std::distance(numbers.begin(), numbers.lower_bound(device.number()));
    text += text.empty() ? "" : ",";
    text += device.has_instance()
                ? device.uuid()
                : std::to_string(numbers.empty() ? device.number() : static_cast<uint32_t>(position));
  }
  return text;
}

}  // namespace minke::engine
