// AmdGpus: AMD's GPUs and their load, read from the files of the kernel's amdgpu driver in /sys/class/drm. It
// uses no library, because reading files costs next to nothing and cannot crash.
//
// It runs in the process that asks the other GPUs' driver (node/gpu_probe.h), because reading a file of a
// hung GPU may hang too. One thread.
#pragma once

#include <string>
#include <vector>

namespace minke::model {
class GpuDevice;
}  // namespace minke::model

namespace minke::node {
class GpuReport;
}  // namespace minke::node

namespace minke::node {

class AmdGpus {
 public:
  // The directories of /sys and /dev.
  AmdGpus(std::string system, std::string devices)
      : system_(std::move(system)), devices_directory_(std::move(devices)) {}

  // Returns all GPUs in the order of their bus addresses, like ROCm, with numbers from `first` on. The device
  // file of a GPU is its render node, because all GPUs share /dev/kfd, and it opens no GPU by itself.
  GpuReport discover(uint32_t first);
  // Returns the current state of the last discover()'s GPUs. A GPU whose files are gone reports a problem.
  GpuReport read() const;

 private:
  struct Device {
    std::string uuid;
    std::string directory;  // /sys/class/drm/renderD128/device
    std::string sensors;    // of it: hwmon/hwmon3; empty: none
  };
  std::string system_, devices_directory_;
  std::vector<Device> devices_;
};

// Whether there is an AMD GPU. Cheap.
bool has_amd_gpus(const std::string& system);
// Whether AmdGpus::discover() described this device.
bool is_amd(const model::GpuDevice& device);

}  // namespace minke::node
