#include "ml/machine_offers.h"

#include <algorithm>

#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"
#include "text/gres_count.h"
#include "text/number.h"

namespace minke::ml {

namespace {

// "h100_3g.40gb": an instance of a divided GPU, whose name says its memory.
std::optional<double> memory_in_name(std::string_view type) {
  const size_t dot = type.rfind('.');
  if (dot == std::string_view::npos || !type.ends_with("gb")) return std::nullopt;
  const auto gib = text::parse_unsigned(type.substr(dot + 1, type.size() - dot - 3), 4096);
  return gib && *gib > 0 ? std::optional<double>(static_cast<double>(*gib)) : std::nullopt;
}

// GiB of the devices of a type; 0: the node does not say.
double memory_of_devices(const model::NodeRecord& node, std::string_view type) {
  constexpr double kMibAGib = 1024;
  double least = 0;
  for (const model::GpuDevice& device : node.gpu_devices()) {
    const double gib = static_cast<double>(device.memory_mib()) / kMibAGib;
    if (device.type() == type && gib > 0 && (least == 0 || gib < least)) least = gib;
  }
  return least;
}

}  // namespace

std::optional<double> memory_of_gpu_type(std::string_view type) {
  if (const auto said = memory_in_name(type)) return said;
  std::optional<double> least;
  for (const clusters::KnownCluster& cluster : clusters::known_clusters()) {
    for (const clusters::GpuOffer& offer : cluster.gpus) {
      if (offer.specifier == type && (!least || offer.memory_gib < *least)) least = offer.memory_gib;
    }
  }
  return least;
}

MachineOffers::MachineOffers(std::string name) : name_(std::move(name)) {}

void MachineOffers::add_type(const model::NodeRecord& node, const std::string& type, uint32_t count,
                             uint32_t gpus) {
  double gib = memory_of_devices(node, type);
  if (gib == 0) gib = memory_of_gpu_type(type).value_or(0);
  if (gib == 0) {
    if (std::find(unknown_.begin(), unknown_.end(), type) == unknown_.end()) unknown_.push_back(type);
    return;
  }
  const uint32_t cores = std::max(1u, node.cpus() / gpus);
  const auto memory = static_cast<uint32_t>(std::min<uint64_t>(node.memory_mib() / 1024 / gpus, 1u << 20));
  auto& all = offers_.gpus;
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.specifier == type; });
  if (known != all.end()) {
    ++known->nodes;
    known->memory_gib = std::min(known->memory_gib, gib);
    known->per_node = std::min(known->per_node, count);
    known->cores = std::min(known->cores, cores);
    known->memory_gb = std::min(known->memory_gb, memory);
    return;
  }
  clusters::GpuOffer offer;
  offer.specifier = types_.emplace_back(type);
  offer.memory_gib = gib;
  offer.is_part = memory_in_name(type).has_value();
  offer.per_node = offer.is_part ? 1 : count;
  offer.cores = cores;
  offer.memory_gb = memory;
  offer.nodes = 1;
  const auto place =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.memory_gib > gib; });
  all.insert(place, offer);
}

void MachineOffers::add(const model::NodeRecord& node) {
  if (node.memory_mib() > most_memory_mib_) {
    most_memory_mib_ = node.memory_mib();
    most_cpus_ = node.cpus();
  }
  const auto gpus = static_cast<uint32_t>(text::gpus_in(node.gres()));
  for (const model::Gres& one : node.gres())
    if (one.name() == "gpu" && one.count() > 0) add_type(node, one.type(), one.count(), gpus);
}

}  // namespace minke::ml
