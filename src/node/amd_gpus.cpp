#include "node/amd_gpus.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <utility>

#include "model/cluster.pb.h"
#include "model/measurement.pb.h"
#include "node/gpus.pb.h"
#include "node/nvml.h"

namespace minke::node {
namespace {

namespace fs = std::filesystem;

constexpr char kRender[] = "renderD";
constexpr char kRenderDirectory[] = "/dri/";
constexpr char kVendor[] = "0x1002";  // of PCI

// Returns the first line; empty if there is none.
std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

uint64_t number_of(const std::string& path) {
  const std::string line = line_of(path);
  uint64_t number = 0;
  std::from_chars(line.data(), line.data() + line.size(), number);
  return number;
}

// The PCI address and the render node of each GPU, in the order of the addresses.
std::vector<std::pair<std::string, std::string>> render_nodes(const std::string& system) {
  std::vector<std::pair<std::string, std::string>> found;
  std::error_code error;
  const std::string drm = system + "/class/drm";
  for (const auto& entry : fs::directory_iterator(drm, error)) {
    const std::string name = entry.path().filename();
    const std::string device = drm + "/" + name + "/device";
    if (!name.starts_with(kRender) || line_of(device + "/vendor") != kVendor) continue;
    found.emplace_back(fs::canonical(device, error).filename(), name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string sensors_of(const std::string& device) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(device + "/hwmon", error)) return entry.path();
  return "";
}

// "AMD Instinct MI300X" is "mi300x". A GPU without a product name is named by its device number.
std::string type_of(const std::string& product) {
  std::string rest = product;
  for (const std::string_view word : {"AMD ", "Instinct ", "Radeon "}) {
    if (rest.starts_with(word)) rest.erase(0, word.size());
  }
  return rest.empty() ? "amd" : gpu_type_of(rest);
}

}  // namespace

bool has_amd_gpus(const std::string& system) {
  return !render_nodes(system).empty();
}

bool is_amd(const model::GpuDevice& device) {
  return device.files_size() > 0 && device.files(0).find(kRenderDirectory) != std::string::npos;
}

GpuReport AmdGpus::discover(uint32_t first) {
  GpuReport report;
  devices_.clear();
  for (const auto& [address, node] : render_nodes(system_)) {
    Device device;
    device.directory = system_ + "/class/drm/" + node + "/device";
    device.sensors = sensors_of(device.directory);
    const std::string id = line_of(device.directory + "/unique_id");
    device.uuid = "GPU-" + (id.empty() ? address : id);
    model::GpuDevice found;
    found.set_number(first + static_cast<uint32_t>(devices_.size()));
    found.set_name(line_of(device.directory + "/product_name"));
    found.set_type(type_of(found.name()));
    found.set_uuid(device.uuid);
    found.set_bus_id(address);
    found.set_memory_mib(number_of(device.directory + "/mem_info_vram_total") >> 20);
    found.set_cpus(line_of(device.directory + "/local_cpulist"));
    found.add_files(devices_directory_ + kRenderDirectory + node);
    *report.add_readings()->mutable_device() = std::move(found);
    devices_.push_back(std::move(device));
  }
  const GpuReport now = read();
  for (int i = 0; i < now.readings_size(); ++i) report.mutable_readings(i)->MergeFrom(now.readings(i));
  return report;
}

GpuReport AmdGpus::read() const {
  GpuReport report;
  for (const Device& device : devices_) {
    GpuReading& reading = *report.add_readings();
    reading.set_uuid(device.uuid);
    if (line_of(device.directory + "/vendor") != kVendor) {
      reading.set_problem("GPU is lost");
      continue;
    }
    model::Sample::Gpu& now = *reading.mutable_now();
    now.set_utilization(static_cast<uint32_t>(number_of(device.directory + "/gpu_busy_percent")));
    now.set_memory_utilization(static_cast<uint32_t>(number_of(device.directory + "/mem_busy_percent")));
    now.set_memory_mib(number_of(device.directory + "/mem_info_vram_used") >> 20);
    if (device.sensors.empty()) continue;
    // Microwatts, Hz, microjoules (kernel: Documentation/hwmon/sysfs-interface). Older chips report averages.
    const std::string average = device.sensors + "/power1_average";
    const uint64_t power =
        fs::exists(average) ? number_of(average) : number_of(device.sensors + "/power1_input");
    now.set_milliwatts(static_cast<uint32_t>(power / 1000));
    now.set_clock_mhz(static_cast<uint32_t>(number_of(device.sensors + "/freq1_input") / 1'000'000));
    reading.set_energy_millijoules(number_of(device.sensors + "/energy1_input") / 1000);
  }
  return report;
}

}  // namespace minke::node
