// NvmlParts: of GPUs that jobs use, the parts of their cycles, and the rates of their links.
//
// On Hopper and newer, NVML compares two samples of the GPU's counters (GPM, GPU performance monitoring).
// Older GPUs tell PCIe and NVLink only. What the library or the GPU does not tell is not measured, and is no
// 0. In the process of node/gpu_probe.h. One thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "model/measurement.pb.h"

namespace minke::node {

class NvmlParts {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Device {
    std::string uuid;
    void* gpu = nullptr;               // of the library; of a MIG device its whole GPU
    std::optional<unsigned> instance;  // MIG: the GPU instance, which its compute instances share
  };

  // `library`: of dlopen(), initialized.
  explicit NvmlParts(void* library);
  ~NvmlParts();
  NvmlParts(const NvmlParts&) = delete;
  NvmlParts& operator=(const NvmlParts&) = delete;

  // Before each round of read(): which GPUs jobs use. Nothing is measured of others. `begun`: what is
  // measured of these starts now, because earlier cycles were another job's, or nobody's.
  void begin(std::set<std::string> used, const std::set<std::string>& begun);

  // Adds what is measured since the last read of this device; nothing at the first.
  void read(const Device& device, Time now, model::Sample::Gpu& gpu);

 private:
  struct Functions;
  struct Before;
  using Figures = std::map<model::GpuPart, uint64_t>;
  void compare_samples(const Device& device, Before& before, Figures& figures);
  void add_pcie(const Device& device, Figures& figures) const;
  void add_nvlink(const Device& device, double seconds, Before& before, Figures& figures) const;
  void* take_sample(const Device& device) const;

  std::unique_ptr<Functions> functions_;
  std::set<std::string> used_;
  std::map<std::string, Before> before_;  // by UUID, of those that are used
};

}  // namespace minke::node
