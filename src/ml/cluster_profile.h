// What to ask the well-known clusters for, for a model that needs so much GPU memory, and what that costs.
//
// GPUs, cores and memory are the published bundles of each cluster. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minke::ml {

// One kind of GPU that a cluster offers.
struct GpuOffer {
  std::string_view cluster;     // "narval"
  std::string_view specifier;   // what --gpus-per-node wants: "a100"
  std::string_view rgu_type;    // as accounts/billing.h knows it; empty: no value is published
  double memory_gib = 0;        // of one
  uint32_t per_node = 0;        // 1 of a part (MIG): a job has one at most
  uint32_t cores = 0;           // that go with one
  uint32_t memory_gb = 0;       // main memory that goes with one; 0: not asked for there
  bool is_part = false;         // an instance of a divided GPU
  uint32_t least_per_node = 1;  // whole nodes only: per_node
  std::string_view constraint;  // --constraint; empty: none
};
std::span<const GpuOffer> gpu_offers();  // those of a cluster together, the smallest first

struct MemoryNeed {
  double shared = 0;   // bytes that are divided among the GPUs
  double on_each = 0;  // bytes on each of them
};

struct Placement {
  const GpuOffer* offer = nullptr;
  uint32_t nodes = 0;
  uint32_t gpus_per_node = 0;
  double used_share = 0;            // of each GPU's memory, 0 to 1
  std::optional<double> rgu_hours;  // RGU-hours for an hour
};
// The smallest that suffices on one node of the cluster, or else whole nodes, up to 64 of them. Numbers of
// GPUs are powers of two, so that a model's heads can be divided among them. Nothing: it cannot be had there.
std::optional<Placement> place(std::string_view cluster, const MemoryNeed& need);

std::vector<std::string_view> cluster_names();
// "#SBATCH --nodes=1" …
std::vector<std::string> sbatch_lines(const Placement& placement, std::string_view time_limit);

}  // namespace minke::ml
