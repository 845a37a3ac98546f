// AMD's GPUs, as the kernel's amdgpu driver shows them in /sys/class/drm: which there are, and what they do.
// No library: reading files costs next to nothing, and cannot crash.
//
// Called where the other GPUs' driver is asked (node/gpu_probe.h), since a file of a GPU that hangs may hang,
// too. One thread.
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
  // Where /sys and /dev are.
  AmdGpus(std::string system, std::string devices)
      : system_(std::move(system)), devices_directory_(std::move(devices)) {}

  // All of them, in the order of their bus addresses, which is ROCm's; numbers from `first` on. Their device
  // file is the render node's: /dev/kfd is shared by all, and opens no GPU by itself.
  GpuReport discover(uint32_t first);
  // What those of the last discover() do now. One whose files are gone has that for its problem.
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

// Whether there is any. Cheap.
bool has_amd_gpus(const std::string& system);
// As discover() describes them.
bool is_amd(const model::GpuDevice& device);

}  // namespace minke::node
