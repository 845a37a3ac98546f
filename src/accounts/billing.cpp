#include "accounts/billing.h"

#include <algorithm>
#include <array>

namespace minke::accounts {
namespace {

constexpr std::array<GpuModel, 8> kModels = {{
    {"h100-80", 3.44, 3.17, 2.0, 12.2},
    {"a100-80", 1.00, 1.00, 2.0, 4.8},
    {"a100-40", 1.00, 1.00, 1.0, 4.0},
    {"v100-32", 0.81, 0.40, 0.8, 2.6},
    {"v100-16", 0.81, 0.40, 0.4, 2.2},
    {"t4-16", 0.42, 0.21, 0.4, 1.3},
    {"p100-16", 0.48, 0.03, 0.4, 1.1},
    {"p100-12", 0.48, 0.03, 0.3, 1.0},
}};

struct TypeRgu {
  std::string_view type;
  double rgu;
};
constexpr std::array<TypeRgu, 10> kTypes = {{
    {"h100", 12.15},  // 12.2 in tables of one decimal
    {"h200", 13.4},   // none is published: an H100's scores by the formula, with 141 GB
    {"a100", 4.0},
    {"a100_1g.5gb", 0.57},
    {"a100_2g.10gb", 1.14},
    {"a100_3g.20gb", 2.0},
    {"a100_4g.20gb", 2.3},
    {"h100_1g.10gb", 1.74},
    {"h100_2g.20gb", 3.48},
    {"h100_3g.40gb", 6.1},
}};

}  // namespace

std::span<const GpuModel> gpu_models() {
  return kModels;
}

double rgu_by_formula(const GpuModel& model) {
  return 4.0 * (0.4 * model.fp32 + 0.4 * model.fp16 + 0.2 * model.memory);
}

double mig_fraction(int slices, double memory_gb, double whole_memory_gb) {
  return std::max(slices / 7.0, memory_gb / whole_memory_gb);
}

std::optional<clusters::Bundle> bundle_of(std::string_view cluster) {
  const clusters::KnownCluster* known = clusters::find_cluster(cluster);
  return known == nullptr ? std::nullopt : known->bundle;
}

std::optional<double> rgu_of(std::string_view gres_type) {
  for (const TypeRgu& known : kTypes) {
    if (known.type == gres_type) return known.rgu;
  }
  return std::nullopt;
}

std::vector<std::string_view> rgu_types() {
  std::vector<std::string_view> types;
  for (const TypeRgu& known : kTypes) types.push_back(known.type);
  return types;
}

double core_equivalents(double cores, double memory_gb, double gb_per_core) {
  return std::max(cores, memory_gb / gb_per_core);
}

double rgu_equivalents(double rgu, double cores, double memory_gb, const clusters::Bundle& bundle) {
  return std::max({rgu, cores / bundle.cores, memory_gb / bundle.memory_gb});
}

}  // namespace minke::accounts
