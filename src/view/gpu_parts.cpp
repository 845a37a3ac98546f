#include "view/gpu_parts.h"

namespace minke::view {
namespace {

constexpr double kPercent = 0.1, kRatio = 1e-3, kBytes = 1024;  // of thousandths, and of KiB
constexpr GpuPartName kNames[] = {
    {model::GPU_SM_ACTIVE, "sm_active_percent", kPercent, "DCGM_FI_PROF_SM_ACTIVE", kRatio,
     "Ratio of the time that a multiprocessor of the GPU has work"},
    {model::GPU_SM_OCCUPANCY, "sm_occupancy_percent", kPercent, "DCGM_FI_PROF_SM_OCCUPANCY", kRatio,
     "Ratio of the warps on the multiprocessors to the most that they can hold"},
    {model::GPU_TENSOR, "tensor_percent", kPercent, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", kRatio,
     "Ratio of cycles that the tensor pipes are active"},
    {model::GPU_FP64, "fp64_percent", kPercent, "DCGM_FI_PROF_PIPE_FP64_ACTIVE", kRatio,
     "Ratio of cycles that the FP64 pipes are active"},
    {model::GPU_FP32, "fp32_percent", kPercent, "DCGM_FI_PROF_PIPE_FP32_ACTIVE", kRatio,
     "Ratio of cycles that the FP32 pipes are active"},
    {model::GPU_FP16, "fp16_percent", kPercent, "DCGM_FI_PROF_PIPE_FP16_ACTIVE", kRatio,
     "Ratio of cycles that the FP16 pipes are active"},
    {model::GPU_DRAM, "dram_percent", kPercent, "DCGM_FI_PROF_DRAM_ACTIVE", kRatio,
     "Ratio of the bandwidth of the GPU's memory that is used"},
    {model::GPU_PCIE_RECEIVED, "pcie_received_bytes_per_second", kBytes, "DCGM_FI_PROF_PCIE_RX_BYTES", kBytes,
     "What the GPU receives over PCIe, bytes per second"},
    {model::GPU_PCIE_SENT, "pcie_sent_bytes_per_second", kBytes, "DCGM_FI_PROF_PCIE_TX_BYTES", kBytes,
     "What the GPU sends over PCIe, bytes per second"},
    {model::GPU_NVLINK_RECEIVED, "nvlink_received_bytes_per_second", kBytes, "DCGM_FI_PROF_NVLINK_RX_BYTES",
     kBytes, "What the GPU receives over NVLink, bytes per second"},
    {model::GPU_NVLINK_SENT, "nvlink_sent_bytes_per_second", kBytes, "DCGM_FI_PROF_NVLINK_TX_BYTES", kBytes,
     "What the GPU sends over NVLink, bytes per second"},
};

}  // namespace

std::span<const GpuPartName> gpu_part_names() {
  return kNames;
}

const GpuPartName* name_of(model::GpuPart part) {
  for (const GpuPartName& one : kNames)
    if (one.part == part) return &one;
  return nullptr;
}

std::vector<std::optional<double>> values_of(const model::Series::Gpu::Part& part, double scale) {
  std::vector<std::optional<double>> values;
  int64_t stored = 0;
  for (const int64_t difference : part.values()) {
    stored += difference;
    values.push_back(stored <= 0 ? std::nullopt : std::optional(static_cast<double>(stored - 1) * scale));
  }
  return values;
}

}  // namespace minke::view
