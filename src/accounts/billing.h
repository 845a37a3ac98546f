// Billing by the maximum rule, in core equivalents and in Reference GPU Units (RGU), as the
// Digital Research Alliance of Canada charges its allocations. A job is billed for its request,
// because that is what others cannot use; its actual use does not matter. The tables are the
// published ones. A cluster may count another value for a GPU model, so the values can be
// configured and these are only the defaults. Pure functions and constants. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "clusters/known_cluster.h"

namespace minke::accounts {

struct GpuModel {
  std::string_view name;
  double fp32 = 0;  // scores relative to an A100 with 40 GB
  double fp16 = 0;
  double memory = 0;
  double rgu = 0;  // as published, to one decimal
};
std::span<const GpuModel> gpu_models();
// 4 x (0.4 FP32 + 0.4 FP16 + 0.2 memory), not rounded.
double rgu_by_formula(const GpuModel& model);

// The fraction of a GPU that a MIG instance has: the larger of its share of the 7 compute
// slices and its share of the memory.
double mig_fraction(int slices, double memory_gb, double whole_memory_gb);

std::optional<clusters::Bundle> bundle_of(std::string_view cluster);  // "fir", "narval", …

// RGU of a whole GPU or a MIG instance, as the bundles count it: "h100", "a100", "h100_1g.10gb".
std::optional<double> rgu_of(std::string_view gres_type);
std::vector<std::string_view> rgu_types();

inline constexpr double kGbPerCore = 4;
double core_equivalents(double cores, double memory_gb, double gb_per_core = kGbPerCore);
// `rgu` is the sum over all GPUs that the job asks for.
double rgu_equivalents(double rgu, double cores, double memory_gb, const clusters::Bundle& bundle);

}  // namespace minke::accounts
