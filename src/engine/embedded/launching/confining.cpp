#include "engine/embedded/launching/confining.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/accounts/users.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/launching.h"
#include "engine/embedded/scheduling/nodes.h"
#include "environment/job_environment.h"
#include "environment/step_gpus.h"
#include "node/amd_gpus.h"
#include "node/launch.pb.h"
#include "os/files.h"
#include "os/volatile_file.h"

namespace minke::engine {

using namespace model;

namespace {

// Device files of the machine's GPUs that the job does not have.
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

// A kernel list of the CPUs that are near any of the GPUs.
std::string cpus_near_gpus(const Core& core, const NodeAllocation& allocation) {
  const NodeRecord* node = core.nodes->find_node(allocation.node());
  if (node == nullptr || node->gpu_devices().empty()) return "";
  std::set<std::string> lists;
  for (const uint32_t index : environment::gpu_numbers(allocation)) {
    if (index >= static_cast<uint32_t>(node->gpu_devices_size())) continue;
    const std::string& near = node->gpu_devices(static_cast<int>(index)).cpus();
    if (!near.empty()) lists.insert(near);
  }
  std::string all;
  for (const std::string& list : lists) all += (all.empty() ? "" : ",") + list;
  return all;
}

// The /etc/hosts of offline jobs: all that they reach is at their loopback.
std::string hosts_of_offline(const config::Configuration& config) {
  return config.home + "/hosts.offline";
}

node::PortAccess port_access(config::PortAccess access) {
  switch (access) {
    case config::PortAccess::kJob:
      return node::PORTS_CLOSED;
    case config::PortAccess::kUser:
      return node::PORTS_OF_USER;
    case config::PortAccess::kEverybody:
      return node::PORTS_OF_EVERYBODY;
  }
  return node::PORTS_CLOSED;
}

// The name that this machine has for others; empty: none.
std::string own_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

std::vector<GpuDevice> gpu_devices_of(const Core& core, const Job& job) {
  std::vector<GpuDevice> devices;
  if (!job.details) return devices;
  for (const NodeAllocation& allocation : job.details->nodes) {
    const NodeRecord* node = core.nodes->find_node(allocation.node());
    if (node == nullptr) continue;
    for (const uint32_t index : environment::gpu_numbers(allocation)) {
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

// Hides tiers from the job, or shows them read-only as configured. Works on the part of their paths
// that is the same for all users.
void close_tiers(const Core& core, const Job& job, node::LaunchOrder& order) {
  for (const storage::Tier& tier : core.config.storage.tiers(core.config.home)) {
    if (tier.in_jobs == storage::InJobs::kYes) continue;
    std::string path =
        tier.path.empty() ? home_directory_of(job.uid) : tier.path.substr(0, tier.path.find('%'));
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (path.size() <= 1) continue;
    tier.in_jobs == storage::InJobs::kNo ? order.add_hidden_directories(path)
                                         : order.add_read_only_directories(path);
  }
}

void confine(const Core& core, const Job& job, node::LaunchOrder& order) {
  order.set_tmp_dir(core.launching->tmp_dir_of(job));
  order.set_tmp_bytes(core.config.tmp_bytes);
  core.rights->set_identity(job.uid, job.gid, order);
  order.set_job_memory_bytes(core.launching->memory_limit_of(job));
  order.set_job_pids(core.config.max_pids);
  if (core.config.bind_cpus) {
    for (const NodeAllocation& node : job.details->nodes) {
      order.add_job_cpus(node.cpus());
      order.add_job_near_cpus(cpus_near_gpus(core, node));
    }
  }
  order.set_offline(is_offline(core, job));
  if (order.offline() && !core.config.proxy.allowed().empty()) *order.mutable_proxy() = core.config.proxy;
  if (order.offline()) order.set_port_access(port_access(core.config.job_ports));
  order.set_hosts(order.offline() ? hosts_of_offline(core.config) : core.hosts_path);
  for (const std::string& file : hidden_files(core, gpu_devices_of(core, job)))
    order.add_hidden_devices(file);
  close_tiers(core, job, order);
}

std::string host_name_of(const Core& core, const std::string& node) {
  const NodeRecord* found = core.nodes->find_node(node);
  return found != nullptr && found->is_virtual() ? node : "";
}

namespace {

// Usually the file is there already, so a full disk does no harm.
Status keep_file(const std::string& path, const std::string& text) {
  if (const auto known = os::read_file(path, text.size()); known && *known == text) return {};
  return os::replace_volatile_file(path, text, 0644);
}

}  // namespace

Result<std::string> write_hosts(const config::Configuration& config) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  std::string names;
  for (const NodeRecord& node : config.nodes) {
    if (node.is_virtual()) names += "127.0.0.1\t" + node.name() + "\n";
  }
  const auto machine = os::read_file("/etc/hosts", kMostBytes);
  const std::string text =
      (machine ? *machine : "127.0.0.1\tlocalhost\n") + "# the cluster's nodes\n" + names;
  // The machine's own name first: its address is not reached. With the names that guides use:
  // export http_proxy=http://proxy:80, http://squid:3128.
  std::string offline = "127.0.0.1\tlocalhost " + own_name() + "\n" + text;
  if (!config.proxy.allowed().empty()) offline += "127.0.0.1\tproxy squid\n";
  if (const Status written = keep_file(hosts_of_offline(config), offline); !written)
    return failure(written.error());
  if (names.empty() || !machine) return std::string();
  const std::string path = config.home + "/hosts";
  if (const Status written = keep_file(path, text); !written) return failure(written.error());
  return path;
}

environment::GpuVariables gpu_variables(const Core& core, const Job& job, const std::string& node_name,
                                        const std::vector<uint32_t>& indices) {
  const NodeRecord* node = core.nodes->find_node(node_name);
  std::string cuda, rocr;
  if (node == nullptr || node->gpu_devices().empty()) {
    cuda = environment::join_numbers(indices);
  } else {
    // Counts only GPUs that the job can open; each vendor's library counts its own.
    const bool hides = core.launching->machine().hides_devices();
    const auto open = hides ? gpu_devices_of(core, job)
                            : std::vector<GpuDevice>(node->gpu_devices().begin(), node->gpu_devices().end());
    std::set<uint32_t> numbers_of_cuda, numbers_of_rocr;  // of whole GPUs
    for (const GpuDevice& device : open)
      (node::is_amd(device) ? numbers_of_rocr : numbers_of_cuda).insert(device.number());
    for (const uint32_t index : indices) {
      if (index >= static_cast<uint32_t>(node->gpu_devices_size()))
        continue;  // it existed when the job started
      const GpuDevice& device = node->gpu_devices(static_cast<int>(index));
      const bool amd = node::is_amd(device);
      const std::set<uint32_t>& numbers = amd ? numbers_of_rocr : numbers_of_cuda;
      const auto position = std::distance(numbers.begin(), numbers.lower_bound(device.number()));
      std::string& text = amd ? rocr : cuda;
      text += text.empty() ? "" : ",";
      // The driver's number stays the same when another GPU is lost.
      text += device.has_instance() ? device.uuid()
              : hides || amd        ? std::to_string(position)
                                    : std::to_string(device.number());
    }
  }
  environment::GpuVariables variables;
  // Never both for the same GPUs: HIP would select from what ROCR_VISIBLE_DEVICES leaves.
  if (!rocr.empty()) variables.emplace_back("ROCR_VISIBLE_DEVICES", rocr);
  if (!cuda.empty() || rocr.empty()) {
    variables.emplace_back("CUDA_VISIBLE_DEVICES", cuda);
    variables.emplace_back("GPU_DEVICE_ORDINAL", cuda);
  }
  return variables;
}

}  // namespace minke::engine
