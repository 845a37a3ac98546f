#include "ml/cluster_profile.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "accounts/billing.h"

namespace minke::ml {

namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr double kUsable = 0.95;  // of a GPU's memory: the driver keeps some, and some is lost between pieces
constexpr uint32_t kMaxNodes = 64;

constexpr GpuOffer part(std::string_view cluster, std::string_view specifier, std::string_view rgu_type,
                        double memory_gib, uint32_t cores, uint32_t memory_gb) {
  return {cluster, specifier, rgu_type, memory_gib, 1, cores, memory_gb, true, 1, ""};
}
constexpr GpuOffer whole(std::string_view cluster, std::string_view specifier, std::string_view rgu_type,
                         double memory_gib, uint32_t per_node, uint32_t cores, uint32_t memory_gb,
                         uint32_t least_per_node = 1, std::string_view constraint = "") {
  return {cluster, specifier, rgu_type, memory_gib,     per_node,
          cores,   memory_gb, false,    least_per_node, constraint};
}

constexpr std::array kOffers = {
    part("fir", "nvidia_h100_80gb_hbm3_1g.10gb", "h100_1g.10gb", 10, 1, 35),
    part("fir", "nvidia_h100_80gb_hbm3_2g.20gb", "h100_2g.20gb", 20, 3, 70),
    part("fir", "nvidia_h100_80gb_hbm3_3g.40gb", "h100_3g.40gb", 40, 6, 140),
    whole("fir", "h100", "h100", 80, 4, 12, 280),
    part("narval", "a100_1g.5gb", "a100_1g.5gb", 5, 1, 15),
    part("narval", "a100_2g.10gb", "a100_2g.10gb", 10, 3, 31),
    part("narval", "a100_3g.20gb", "a100_3g.20gb", 20, 6, 62),
    whole("narval", "a100", "a100", 40, 4, 12, 124),
    part("nibi", "h100_1g.10gb", "h100_1g.10gb", 10, 2, 31),
    part("nibi", "h100_2g.20gb", "h100_2g.20gb", 20, 4, 62),
    part("nibi", "h100_3g.40gb", "h100_3g.40gb", 40, 7, 124),
    whole("nibi", "h100", "h100", 80, 8, 14, 250),
    part("rorqual", "h100_1g.10gb", "h100_1g.10gb", 10, 2, 15),
    part("rorqual", "h100_2g.20gb", "h100_2g.20gb", 20, 4, 31),
    part("rorqual", "h100_3g.40gb", "h100_3g.40gb", 40, 8, 62),
    whole("rorqual", "h100", "h100", 80, 4, 16, 124),
    // Memory is not asked for there: it comes with the GPUs, of which a job has one or all four of its nodes.
    whole("trillium", "h100", "h100", 80, 4, 24, 0),
    whole("tamia", "h100", "", 80, 4, 12, 125, 4),
    whole("tamia", "h200", "", 141, 8, 8, 125, 8),
    whole("killarney", "l40s", "", 48, 4, 16, 125),
    whole("killarney", "h100", "", 80, 8, 6, 250),
    whole("vulcan", "l40s", "", 48, 4, 16, 125),
    whole("mila", "l40s", "", 48, 4, 12, 250),
    whole("mila", "a100l", "", 80, 4, 16, 248),
    whole("alex", "a40", "", 48, 8, 16, 60),
    whole("alex", "a100", "", 40, 8, 16, 120),
    whole("alex", "a100", "", 80, 8, 16, 240, 1, "a100_80"),
};

double share(const GpuOffer& offer, const MemoryNeed& need, uint32_t gpus) {
  return (need.shared / gpus + need.on_each) / (offer.memory_gib * kGib);
}

// The fewest on one node; nothing where that is not enough.
std::optional<uint32_t> on_one_node(const GpuOffer& offer, const MemoryNeed& need) {
  for (uint32_t gpus = offer.least_per_node; gpus <= offer.per_node; gpus *= 2) {
    const bool odd = offer.cluster == "trillium" && gpus != 1 && gpus != offer.per_node;
    if (!odd && share(offer, need, gpus) <= kUsable) return gpus;
  }
  return std::nullopt;
}

std::optional<double> rgu_hours(const Placement& placement) {
  const GpuOffer& offer = *placement.offer;
  const auto rgu = accounts::rgu_of(offer.rgu_type);
  const auto bundle = accounts::bundle_of(offer.cluster);
  if (!rgu || !bundle) return std::nullopt;
  const double gpus = double{1} * placement.nodes * placement.gpus_per_node;
  return accounts::rgu_equivalents(*rgu * gpus, offer.cores * gpus, offer.memory_gb * gpus, *bundle);
}

}  // namespace

std::span<const GpuOffer> gpu_offers() {
  return kOffers;
}

std::vector<std::string_view> cluster_names() {
  std::vector<std::string_view> names;
  for (const GpuOffer& offer : kOffers) {
    if (names.empty() || names.back() != offer.cluster) names.push_back(offer.cluster);
  }
  return names;
}

std::optional<Placement> place(std::string_view cluster, const MemoryNeed& need) {
  std::optional<Placement> best;
  for (const GpuOffer& offer : kOffers) {
    if (offer.cluster != cluster) continue;
    Placement placement{&offer, 1, 0, 0, std::nullopt};
    if (const auto gpus = on_one_node(offer, need)) {
      placement.gpus_per_node = *gpus;
    } else if (!offer.is_part) {
      placement.gpus_per_node = offer.per_node;
      while (placement.nodes <= kMaxNodes &&
             share(offer, need, placement.nodes * placement.gpus_per_node) > kUsable)
        placement.nodes *= 2;
    }
    if (placement.gpus_per_node == 0 || placement.nodes > kMaxNodes) continue;
    placement.used_share = share(offer, need, placement.nodes * placement.gpus_per_node);
    // Offers come from the small to the large: another one must spare nodes or GPUs.
    const auto size = [](const Placement& one) {
      return std::pair(one.nodes, one.nodes * one.gpus_per_node);
    };
    if (!best || size(placement) < size(*best)) best = placement;
    if (best->nodes == 1 && best->gpus_per_node == 1) break;
  }
  if (best) best->rgu_hours = rgu_hours(*best);
  return best;
}

std::vector<std::string> sbatch_lines(const Placement& placement, std::string_view time_limit) {
  const GpuOffer& offer = *placement.offer;
  const auto line = [](std::string_view option, const std::string& value) {
    return "#SBATCH --" + std::string(option) + "=" + value;
  };
  const uint32_t gpus = placement.gpus_per_node;
  std::vector<std::string> lines = {
      line("nodes", std::to_string(placement.nodes)),
      line("gpus-per-node", std::string(offer.specifier) + ":" + std::to_string(gpus)),
      line("ntasks-per-node", "1"),
      line("cpus-per-task", std::to_string(offer.cores * gpus)),
  };
  if (offer.memory_gb != 0) lines.push_back(line("mem", std::to_string(offer.memory_gb * gpus) + "G"));
  if (!offer.constraint.empty()) lines.push_back(line("constraint", std::string(offer.constraint)));
  lines.push_back(line("time", std::string(time_limit)));
  return lines;
}

}  // namespace minke::ml
