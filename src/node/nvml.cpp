#include "node/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fstream>
#include <optional>
#include <sstream>

#include "model/cluster.pb.h"
#include "model/measurement.pb.h"
#include "node/gpus.pb.h"
#include "node/nvml_parts.h"
#include "os/files.h"

namespace minke::node {
namespace {

// The library's types, as in its interface since CUDA 11.
using Handle = void*;
struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

constexpr int kSuccess = 0;
constexpr unsigned kMultiprocessorClock = 1;
constexpr unsigned kMostDevices = 256;

std::string lower_with_underscores(std::string text) {
  for (char& c : text) {
    c = c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

// "h100", "a100", "l40s", "gh200", "v100": one or two letters and a number.
bool is_model_number(const std::string& word) {
  size_t letters = 0;
  while (letters < word.size() && std::islower(static_cast<unsigned char>(word[letters]))) ++letters;
  return letters >= 1 && letters <= 2 && letters < word.size() &&
         std::isdigit(static_cast<unsigned char>(word[letters]));
}

// The number after "DeviceFileMinor:" in a file of the driver; -1: there is none.
int minor_of_capability(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kKey = "DeviceFileMinor:";
    if (line.starts_with(kKey)) return std::atoi(line.c_str() + kKey.size());
  }
  return -1;
}

std::string cpu_list(const std::vector<unsigned long>& set) {
  constexpr size_t kBits = 8 * sizeof(unsigned long);
  std::string list;
  const auto has = [&](size_t cpu) {
    return cpu < set.size() * kBits && (set[cpu / kBits] >> cpu % kBits & 1);
  };
  for (size_t first = 0; first < set.size() * kBits; ++first) {
    if (!has(first)) continue;
    size_t last = first;
    while (has(last + 1)) ++last;
    list += (list.empty() ? "" : ",") + std::to_string(first);
    if (last > first) list += "-" + std::to_string(last);
    first = last;
  }
  return list;
}

}  // namespace

std::string gpu_type_of(const std::string& product) {
  if (const size_t part = product.find(" MIG "); part != std::string::npos)
    return lower_with_underscores(product.substr(0, part) + " " + product.substr(part + 5));
  std::istringstream words(lower_with_underscores(product));
  std::string type;
  for (std::string word; std::getline(words, word, '_');) {
    if (type.empty() && (word == "nvidia" || word == "tesla" || word == "geforce" || word == "quadro"))
      continue;
    if (type.empty() && is_model_number(word)) return word.substr(0, word.find('-'));
    type += (type.empty() ? "" : "_") + word;
  }
  return type.empty() ? "gpu" : type;
}

// A function that the library lacks is null, and its value is unknown.
struct Nvml::Functions {
  void* library = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Handle*) = nullptr;
  int (*name)(Handle, char*, unsigned) = nullptr;
  int (*uuid)(Handle, char*, unsigned) = nullptr;
  int (*minor)(Handle, unsigned*) = nullptr;
  int (*memory)(Handle, Memory*) = nullptr;
  int (*pci)(Handle, PciInfo*) = nullptr;
  int (*cpu_affinity)(Handle, unsigned, unsigned long*) = nullptr;
  int (*mig_mode)(Handle, unsigned*, unsigned*) = nullptr;
  int (*most_parts)(Handle, unsigned*) = nullptr;
  int (*part_by_index)(Handle, unsigned, Handle*) = nullptr;
  int (*gpu_instance)(Handle, unsigned*) = nullptr;
  int (*compute_instance)(Handle, unsigned*) = nullptr;
  int (*utilization)(Handle, Utilization*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;
  int (*energy)(Handle, unsigned long long*) = nullptr;
  int (*clock)(Handle, unsigned, unsigned*) = nullptr;

  ~Functions() {
    if (library == nullptr) return;
    if (shutdown != nullptr) shutdown();
    ::dlclose(library);
  }

  template <typename Function>
  void find(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(::dlsym(library, symbol));
  }

  template <typename Function, typename... Arguments>
  static bool ask(Function function, Arguments... arguments) {
    return function != nullptr && function(arguments...) == kSuccess;
  }
};

struct Nvml::Device {
  Handle handle = nullptr;
  Handle whole = nullptr;  // of a MIG instance: its GPU, which has clocks and power
  std::string uuid;
  unsigned minor = 0;
  std::optional<unsigned> instance;  // MIG: of the GPU instance that it is in
};

Result<std::unique_ptr<Nvml>> Nvml::open(const GpuOptions& options) {
  auto functions = std::make_unique<Functions>();
  functions->library = ::dlopen(options.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (functions->library == nullptr) {
    const char* why = ::dlerror();
    const std::string message = why == nullptr ? "cannot load " + options.library : why;
    const bool missing = message.find("No such file") != std::string::npos;
    return failure(message, missing ? ENOENT : ELIBBAD);
  }
  Functions& f = *functions;
  f.find(f.init, "nvmlInit_v2");
  f.find(f.error_string, "nvmlErrorString");
  f.find(f.count, "nvmlDeviceGetCount_v2");
  f.find(f.by_index, "nvmlDeviceGetHandleByIndex_v2");
  f.find(f.name, "nvmlDeviceGetName");
  f.find(f.uuid, "nvmlDeviceGetUUID");
  f.find(f.minor, "nvmlDeviceGetMinorNumber");
  f.find(f.memory, "nvmlDeviceGetMemoryInfo");
  f.find(f.pci, "nvmlDeviceGetPciInfo_v3");
  f.find(f.cpu_affinity, "nvmlDeviceGetCpuAffinity");
  f.find(f.mig_mode, "nvmlDeviceGetMigMode");
  f.find(f.most_parts, "nvmlDeviceGetMaxMigDeviceCount");
  f.find(f.part_by_index, "nvmlDeviceGetMigDeviceHandleByIndex");
  f.find(f.gpu_instance, "nvmlDeviceGetGpuInstanceId");
  f.find(f.compute_instance, "nvmlDeviceGetComputeInstanceId");
  f.find(f.utilization, "nvmlDeviceGetUtilizationRates");
  f.find(f.power, "nvmlDeviceGetPowerUsage");
  f.find(f.energy, "nvmlDeviceGetTotalEnergyConsumption");
  f.find(f.clock, "nvmlDeviceGetClockInfo");
  if (f.init == nullptr || f.count == nullptr || f.by_index == nullptr)
    return failure(options.library + " is no NVML that this program knows", ELIBBAD);
  std::unique_ptr<Nvml> nvml(new Nvml(std::move(functions), options));
  if (const int code = nvml->functions_->init(); code != kSuccess)
    return failure("the GPU driver cannot be used: " + nvml->error(code), EIO);
  nvml->functions_->find(nvml->functions_->shutdown, "nvmlShutdown");  // only after a successful init
  nvml->parts_ = std::make_unique<NvmlParts>(nvml->functions_->library);
  return nvml;
}

Nvml::Nvml(std::unique_ptr<Functions> functions, GpuOptions options)
    : functions_(std::move(functions)), options_(std::move(options)) {}

Nvml::~Nvml() = default;

std::string Nvml::error(int code) const {
  const char* text = functions_->error_string == nullptr ? nullptr : functions_->error_string(code);
  return text == nullptr ? "NVML error " + std::to_string(code) : text;
}

GpuReport Nvml::discover() {
  GpuReport report;
  devices_.clear();
  unsigned count = 0;
  if (const int code = functions_->count(&count); code != kSuccess) {
    report.set_problem("the GPUs cannot be counted: " + error(code));
    return report;
  }
  for (unsigned number = 0; number < std::min(count, kMostDevices); ++number) discover_one(number, report);
  return report;
}

void Nvml::discover_one(unsigned number, GpuReport& report) {
  Device device;
  if (const int code = functions_->by_index(number, &device.handle); code != kSuccess) {
    GpuReading& lost = *report.add_readings();
    lost.mutable_device()->set_number(number);
    lost.set_problem(error(code));
    return;
  }
  model::GpuDevice found;
  found.set_number(number);
  char text[96] = {};
  if (Functions::ask(functions_->name, device.handle, text, unsigned{sizeof text})) found.set_name(text);
  if (Functions::ask(functions_->uuid, device.handle, text, unsigned{sizeof text})) found.set_uuid(text);
  PciInfo pci{};
  if (Functions::ask(functions_->pci, device.handle, &pci)) found.set_bus_id(pci.bus_id);
  if (Functions::ask(functions_->minor, device.handle, &device.minor))
    found.add_files(options_.devices + "/nvidia" + std::to_string(device.minor));
  std::vector<unsigned long> cpus(16);
  if (Functions::ask(functions_->cpu_affinity, device.handle, static_cast<unsigned>(cpus.size()),
                     cpus.data()))
    found.set_cpus(cpu_list(cpus));
  unsigned current = 0, pending = 0;
  if (Functions::ask(functions_->mig_mode, device.handle, &current, &pending) && current != 0 &&
      discover_parts(device, found, report))
    return;
  Memory memory{};
  if (Functions::ask(functions_->memory, device.handle, &memory)) found.set_memory_mib(memory.total >> 20);
  found.set_type(gpu_type_of(found.name()));
  device.uuid = found.uuid();
  GpuReading& reading = *report.add_readings();
  reading.set_uuid(device.uuid);
  *reading.mutable_device() = std::move(found);
  read_one(device, reading);
  devices_.push_back(device);
}

// False if the library does not know MIG.
bool Nvml::discover_parts(const Device& whole, const model::GpuDevice& of_whole, GpuReport& report) {
  unsigned most = 0;
  if (!Functions::ask(functions_->most_parts, whole.handle, &most)) return false;
  const std::string gpu = options_.capabilities + "/gpu" + std::to_string(whole.minor) + "/mig";
  for (unsigned instance = 0; instance < std::min(most, kMostDevices); ++instance) {
    Device part;
    part.whole = whole.handle;
    if (!Functions::ask(functions_->part_by_index, whole.handle, instance, &part.handle))
      continue;  // does not exist
    model::GpuDevice found = of_whole;
    found.set_instance(instance);
    char text[96] = {};
    if (Functions::ask(functions_->name, part.handle, text, unsigned{sizeof text})) found.set_name(text);
    if (Functions::ask(functions_->uuid, part.handle, text, unsigned{sizeof text})) found.set_uuid(text);
    Memory memory{};
    if (Functions::ask(functions_->memory, part.handle, &memory)) found.set_memory_mib(memory.total >> 20);
    unsigned gi = 0, ci = 0;
    if (Functions::ask(functions_->gpu_instance, part.handle, &gi)) part.instance = gi;
    if (part.instance && Functions::ask(functions_->compute_instance, part.handle, &ci)) {
      const std::string of_gi = gpu + "/gi" + std::to_string(gi);
      for (const std::string& access : {of_gi + "/access", of_gi + "/ci" + std::to_string(ci) + "/access"}) {
        if (const int minor = minor_of_capability(access); minor >= 0)
          found.add_files(options_.devices + "/nvidia-caps/nvidia-cap" + std::to_string(minor));
      }
    }
    found.set_type(gpu_type_of(found.name()));
    part.uuid = found.uuid();
    GpuReading& reading = *report.add_readings();
    reading.set_uuid(part.uuid);
    *reading.mutable_device() = std::move(found);
    read_one(part, reading);
    devices_.push_back(part);
  }
  return true;
}

GpuReport Nvml::read(const GpuQuestion& question, std::chrono::steady_clock::time_point now) {
  GpuReport report;
  parts_->begin({question.used().begin(), question.used().end()},
                {question.begun().begin(), question.begun().end()});
  for (const Device& device : devices_) {
    GpuReading& reading = *report.add_readings();
    reading.set_uuid(device.uuid);
    read_one(device, reading);
    if (!reading.problem().empty()) continue;
    const bool is_part = device.whole != nullptr;
    if (is_part && !device.instance) continue;
    parts_->read({device.uuid, is_part ? device.whole : device.handle, device.instance}, now,
                 *reading.mutable_now());
  }
  return report;
}

void Nvml::read_one(const Device& device, GpuReading& reading) {
  model::Sample::Gpu& now = *reading.mutable_now();
  Memory memory{};
  if (functions_->memory != nullptr) {
    if (const int code = functions_->memory(device.handle, &memory); code != kSuccess)
      return reading.set_problem(error(code));
  }
  now.set_memory_mib(static_cast<uint64_t>(memory.used >> 20));
  // An instance has no utilization in the library; its power and clocks are those of the whole GPU.
  Utilization utilization{};
  if (Functions::ask(functions_->utilization, device.handle, &utilization)) {
    now.set_utilization(utilization.gpu);
    now.set_memory_utilization(utilization.memory);
  }
  unsigned number = 0;
  if (Functions::ask(functions_->clock, device.whole != nullptr ? device.whole : device.handle,
                     kMultiprocessorClock, &number))
    now.set_clock_mhz(number);
  if (device.whole != nullptr) return;
  if (Functions::ask(functions_->power, device.handle, &number)) now.set_milliwatts(number);
  unsigned long long energy = 0;
  if (Functions::ask(functions_->energy, device.handle, &energy)) reading.set_energy_millijoules(energy);
}

}  // namespace minke::node
