// Nvml: NVIDIA's management library (NVML), loaded at run time: which GPUs there are, and their state.
//
// The library may crash, hang, or keep tens of MiB for good, so it must be called only in a process of its
// own (node/gpu_probe.h). One thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::model {
class GpuDevice;
}  // namespace minke::model

namespace minke::node {
class GpuQuestion;
class GpuReading;
class GpuReport;
class NvmlParts;
}  // namespace minke::node

namespace minke::node {

struct GpuOptions {
  std::string library = "libnvidia-ml.so.1";
  std::string devices = "/dev";  // where the device files are
  std::string capabilities = "/proc/driver/nvidia/capabilities";
  std::string system = "/sys";  // to search for other vendors' GPUs (node/amd_gpus.h)
};

class Nvml {
 public:
  // Errors: ENOENT: no such library, so no driver; otherwise why the library cannot be used.
  static Result<std::unique_ptr<Nvml>> open(const GpuOptions& options);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Returns all devices, each with `device` set; MIG instances replace a divided GPU. A GPU that cannot be
  // queried keeps its number and reports a problem, so that the others keep their numbers.
  GpuReport discover();
  // Returns the current state of the last discover()'s devices. Of those that jobs use, also the parts of
  // their cycles since the read before (node/nvml_parts.h). `now`: when it is.
  GpuReport read(const GpuQuestion& question,
                 std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now());

 private:
  struct Functions;
  struct Device;
  explicit Nvml(std::unique_ptr<Functions> functions, GpuOptions options);
  void discover_one(unsigned number, GpuReport& report);
  bool discover_parts(const Device& whole, const model::GpuDevice& of_whole, GpuReport& report);
  void read_one(const Device& device, GpuReading& reading);
  std::string error(int code) const;

  std::unique_ptr<Functions> functions_;
  std::unique_ptr<NvmlParts> parts_;  // behind functions_: it ends first
  GpuOptions options_;
  std::vector<Device> devices_;
};

// Slurm's type of a product: "NVIDIA H100 80GB HBM3" is "h100", "NVIDIA GeForce RTX 4090" is "rtx_4090". A
// MIG instance "NVIDIA H100 80GB HBM3 MIG 3g.40gb" gets its whole name: "nvidia_h100_80gb_hbm3_3g.40gb".
std::string gpu_type_of(const std::string& product);

}  // namespace minke::node
