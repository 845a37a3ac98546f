#include "ml/cluster_profile.h"

#include <algorithm>
#include <cmath>

#include "accounts/billing.h"

namespace minke::ml {

using clusters::GpuOffer;

namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr double kUsable = 0.95;  // of a GPU's memory: the driver keeps some, and some is lost between pieces
constexpr uint32_t kMaxNodes = 64;

double share(const GpuOffer& offer, const MemoryNeed& need, uint32_t gpus) {
  return (need.shared / gpus + need.on_each) / (offer.memory_gib * kGib);
}

// Returns the fewest GPUs on one node; nothing if a node is not enough.
std::optional<uint32_t> on_one_node(const GpuOffer& offer, const MemoryNeed& need) {
  for (uint32_t gpus = offer.least_per_node; gpus <= offer.per_node; gpus *= 2) {
    const bool odd = offer.one_or_all && gpus != 1 && gpus != offer.per_node;
    if (!odd && share(offer, need, gpus) <= kUsable) return gpus;
  }
  return std::nullopt;
}

std::optional<double> rgu_hours(const clusters::KnownCluster& cluster, const Placement& placement) {
  const GpuOffer& offer = *placement.offer;
  const auto rgu = accounts::rgu_of(offer.rgu_type);
  if (!rgu || !cluster.bundle) return std::nullopt;
  const double gpus = double{1} * placement.nodes * placement.gpus_per_node;
  return accounts::rgu_equivalents(*rgu * gpus, offer.cores * gpus, offer.memory_gb * gpus, *cluster.bundle);
}

}  // namespace

std::vector<std::string_view> cluster_names() {
  std::vector<std::string_view> names;
  for (const clusters::KnownCluster& cluster : clusters::known_clusters())
    if (!cluster.gpus.empty()) names.push_back(cluster.name);
  return names;
}

std::optional<Placement> place(std::string_view name, const MemoryNeed& need) {
  const clusters::KnownCluster* cluster = clusters::find_cluster(name);
  return cluster == nullptr ? std::nullopt : place(*cluster, need);
}

std::optional<Placement> place(const clusters::KnownCluster& cluster, const MemoryNeed& need) {
  std::optional<Placement> best;
  for (const GpuOffer& offer : cluster.gpus) {
    const uint32_t most_nodes = offer.nodes == 0 ? kMaxNodes : std::min(offer.nodes, kMaxNodes);
    Placement placement{&offer, 1, 0, 0, std::nullopt};
    if (const auto gpus = on_one_node(offer, need)) {
      placement.gpus_per_node = *gpus;
    } else if (!offer.is_part) {
      placement.gpus_per_node = offer.per_node;
      while (placement.nodes <= most_nodes &&
             share(offer, need, placement.nodes * placement.gpus_per_node) > kUsable)
        placement.nodes *= 2;
    }
    if (placement.gpus_per_node == 0 || placement.nodes > most_nodes) continue;
    placement.used_share = share(offer, need, placement.nodes * placement.gpus_per_node);
    // Offers come from small to large: a later one must save nodes or GPUs.
    const auto size = [](const Placement& one) {
      return std::pair(one.nodes, one.nodes * one.gpus_per_node);
    };
    if (!best || size(placement) < size(*best)) best = placement;
    if (best->nodes == 1 && best->gpus_per_node == 1) break;
  }
  if (best) best->rgu_hours = rgu_hours(cluster, *best);
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
      line("gpus-per-node",
           (offer.specifier.empty() ? "" : std::string(offer.specifier) + ":") + std::to_string(gpus)),
      line("ntasks-per-node", "1"),
      line("cpus-per-task", std::to_string(offer.cores * gpus)),
  };
  if (offer.memory_gb != 0) lines.push_back(line("mem", std::to_string(offer.memory_gb * gpus) + "G"));
  if (!offer.constraint.empty()) lines.push_back(line("constraint", std::string(offer.constraint)));
  lines.push_back(line("time", std::string(time_limit)));
  return lines;
}

}  // namespace minke::ml
