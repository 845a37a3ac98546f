// NVIDIA's management library (NVML), opened at run time: which GPUs there are, and what they do.
//
// Its functions may crash, hang, or take tens of MiB for good: call it in a process that is for that alone
// (node/gpu_probe.h). One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::model {
class GpuDevice;
}  // namespace minke::model

namespace minke::node {
class GpuReading;
class GpuReport;
}  // namespace minke::node

namespace minke::node {

struct GpuOptions {
  std::string library = "libnvidia-ml.so.1";
  std::string devices = "/dev";  // where the device files are
  std::string capabilities = "/proc/driver/nvidia/capabilities";
  std::string system = "/sys";  // where other makers' GPUs are looked for (node/amd_gpus.h)
};

class Nvml {
 public:
  // Errors: ENOENT: there is no such library, so no driver; else the library cannot be used, and why.
  static Result<std::unique_ptr<Nvml>> open(const GpuOptions& options);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // All devices: a GPU that is divided by MIG is not among them, its parts are. What cannot be asked stands
  // in the reading's problem; its number is kept, so that those of the others stay. With `device` in each.
  GpuReport discover();
  // What those of the last discover() do now.
  GpuReport read();

 private:
  struct Functions;
  struct Device;
  explicit Nvml(std::unique_ptr<Functions> functions, GpuOptions options);
  void discover_one(unsigned number, GpuReport& report);
  bool discover_parts(const Device& whole, const model::GpuDevice& of_whole, GpuReport& report);
  void read_one(const Device& device, GpuReading& reading);
  std::string error(int code) const;

  std::unique_ptr<Functions> functions_;
  GpuOptions options_;
  std::vector<Device> devices_;
};

// Slurm's type of a product: "NVIDIA H100 80GB HBM3" is "h100", "NVIDIA GeForce RTX 4090" "rtx_4090"; of a
// part of one, "NVIDIA H100 80GB HBM3 MIG 3g.40gb", the whole name: "nvidia_h100_80gb_hbm3_3g.40gb".
std::string gpu_type_of(const std::string& product);

}  // namespace minke::node
