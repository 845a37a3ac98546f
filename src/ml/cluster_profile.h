// The request for each well-known cluster, for a model that needs so much GPU memory, and its cost.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clusters/known_cluster.h"

namespace minke::ml {

struct MemoryNeed {
  double shared = 0;   // bytes that are divided among the GPUs
  double on_each = 0;  // bytes on each of them
};

struct Placement {
  const clusters::GpuOffer* offer = nullptr;
  uint32_t nodes = 0;
  uint32_t gpus_per_node = 0;
  double used_share = 0;            // of each GPU's memory, 0 to 1
  std::optional<double> rgu_hours;  // RGU-hours for an hour
};
// Returns the smallest placement on one node of the cluster, or else whole nodes, up to 64 of them. Numbers
// of GPUs are powers of two, so that a model's heads can be divided among them. Nothing if it does not fit.
// The placement refers to the cluster.
std::optional<Placement> place(const clusters::KnownCluster& cluster, const MemoryNeed& need);
std::optional<Placement> place(std::string_view cluster, const MemoryNeed& need);

std::vector<std::string_view> cluster_names();  // those whose GPUs are known
// "#SBATCH --nodes=1" …
std::vector<std::string> sbatch_lines(const Placement& placement, std::string_view time_limit);

}  // namespace minke::ml
