#include "sched/layout.h"

#include <algorithm>
#include <numeric>

#include "model/cluster.pb.h"
#include "model/error.h"
#include "model/no_consume.h"
#include "model/shards.h"

namespace minke::sched {
namespace {

// The id of `text` in `known`, which grows when it is new.
template <typename Id>
Id intern(std::vector<std::string>& known, const std::string& text) {
  const auto found = std::find(known.begin(), known.end(), text);
  if (found != known.end()) return static_cast<Id>(found - known.begin());
  known.push_back(text);
  return static_cast<Id>(known.size() - 1);
}

template <typename Items, typename Predicate>
auto index_of(const Items& items, Predicate predicate) -> std::optional<std::size_t> {
  const auto found = std::find_if(items.begin(), items.end(), predicate);
  if (found == items.end()) return std::nullopt;
  return static_cast<std::size_t>(found - items.begin());
}

// Of all its types.
std::uint64_t units_of_name(const model::NodeRecord& record, const std::string& name) {
  std::uint64_t units = 0;
  for (const auto& gres : record.gres()) units += gres.name() == name ? gres.count() : 0;
  return units;
}

}  // namespace

Result<MachineLayout> MachineLayout::build(std::span<const model::NodeRecord> nodes,
                                           std::span<const PartitionNodes> partitions,
                                           std::vector<LicensePool> licenses) {
  MachineLayout layout;
  layout.licenses_ = std::move(licenses);
  for (const auto& record : nodes) {
    if (auto added = layout.add_node(record); !added) return failure(added.error());
  }
  layout.rank_nodes(nodes);
  for (const auto& partition : partitions) {
    if (auto added = layout.add_partition(partition); !added) return failure(added.error());
  }
  layout.gpu_name_ = layout.find_gres_name("gpu");
  layout.shard_name_ = layout.find_gres_name("shard");
  return layout;
}

Status MachineLayout::add_node(const model::NodeRecord& record) {
  const auto id = static_cast<NodeId>(nodes_.size());
  if (record.cpus() == 0) return failure("node " + record.name() + " has no CPUs");
  if (!node_ids_.emplace(record.name(), id).second)
    return failure("node " + record.name() + " is given twice");
  LayoutNode node;
  node.name = record.name();
  node.cpus = record.cpus();
  node.sockets = std::max(1u, record.sockets());
  node.cores = std::max(1u, node.sockets * std::max(1u, record.cores_per_socket()));
  node.memory_mib = record.memory_mib();
  node.tmp_mib = record.tmp_disk_mib();
  node.weight = record.weight();
  if (auto added = add_gres(record, node); !added) return added;
  nodes_.push_back(std::move(node));
  return {};
}

Status MachineLayout::add_gres(const model::NodeRecord& record, LayoutNode& node) {
  node.first_pool = static_cast<std::uint32_t>(pools_.size());
  std::vector<std::uint32_t> devices_of_name;  // by GresNameId, on this node
  for (const auto& gres : record.gres()) {
    if (gres.count() == 0) continue;
    const auto name = intern<GresNameId>(gres_names_, gres.name());
    const bool is_consumed = !model::is_not_consumed(gres.type());
    const std::string type(model::type_of(gres.type()));
    auto kind = find_gres_kind(name, type);
    if (!kind) {
      kind = static_cast<GresKindId>(kinds_.size());
      kinds_.push_back({name, type});
    }
    devices_of_name.resize(gres_names_.size());
    std::uint32_t& taken = devices_of_name[name];
    const bool are_devices = gres.name() == "gpu" || gres.name() == "shard";
    const std::uint32_t most = are_devices ? kMaxDevices : kMaxUnits;
    if (gres.count() > most - taken)
      return failure("node " + record.name() + " offers more than " + std::to_string(most) + " " +
                     gres.name());
    const bool numbered = units_of_name(record, gres.name()) <= kMaxDevices;
    const DeviceSet devices = numbered ? device_range(taken, gres.count()) : DeviceSet{};
    taken += gres.count();
    const auto first = pools_.begin() + node.first_pool;
    const auto pool = std::find_if(first, pools_.end(), [&](const GresPool& p) { return p.kind == *kind; });
    if (pool != pools_.end()) {
      pool->devices |= devices;
      pool->units += gres.count();
    } else {
      const auto& named = record.explicit_gres();
      const bool is_explicit = std::find(named.begin(), named.end(), gres.name()) != named.end();
      pools_.push_back({*kind, name, is_consumed, devices, gres.count(), is_explicit});
      ++node.pool_count;
    }
  }
  if (node.pool_count > kMaxPoolsPerNode) {
    return failure("node " + record.name() + " offers more than " + std::to_string(kMaxPoolsPerNode) +
                   " kinds of GRES");
  }
  return share_gpus(node);
}

// Gives the node's shards to its GPUs: as many to each, and one more to the last ones if some are left, as in
// Slurm. Shards of several types go to the GPUs in the order of their numbers.
Status MachineLayout::share_gpus(LayoutNode& node) {
  const auto pools = std::span(pools_).subspan(node.first_pool, node.pool_count);
  const auto number_of = [&](std::string_view name) {
    std::uint32_t count = 0;
    for (const GresPool& pool : pools)
      if (gres_names_[pool.name] == name) count += static_cast<std::uint32_t>(count_of(pool.devices));
    return count;
  };
  const std::uint32_t gpus = number_of("gpu");
  const std::uint32_t shards = number_of("shard");
  if (shards == 0) return {};
  if (gpus == 0) return failure("node " + node.name + ": " + std::to_string(shards) + " shards of no GPU");
  const std::uint32_t most = (shards + gpus - 1) / gpus;
  if (most > model::kShardsOfGpu)
    return failure("node " + node.name + ": a GPU can have " + std::to_string(model::kShardsOfGpu) +
                   " shards at most");
  if (std::uint64_t{most} * gpus > kMaxDevices)
    return failure("node " + node.name + ": " + std::to_string(shards) + " shards are too many for " +
                   std::to_string(gpus) + " GPUs");
  node.shards_per_gpu = most;
  std::vector<std::uint32_t> places;  // of the shards, by their numbers
  const std::uint32_t first_with_more = gpus - shards % gpus;
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    const std::uint32_t here = shards / gpus + (gpu < first_with_more ? 0 : 1);
    for (std::uint32_t shard = 0; shard < here; ++shard) places.push_back(gpu * most + shard);
  }
  for (GresPool& pool : pools) {
    if (gres_names_[pool.name] != "shard") continue;
    DeviceSet placed;
    each_device(pool.devices, [&](std::uint32_t shard) { placed.set(places[shard]); });
    pool.devices = placed;
  }
  return {};
}

DeviceSet MachineLayout::shards_of_gpus(NodeId node, const DeviceSet& gpus) const {
  const std::uint32_t each = nodes_[node].shards_per_gpu;
  DeviceSet shards;
  if (each == 0) return shards;
  each_device(gpus, [&](std::uint32_t gpu) { shards |= device_range(std::size_t{gpu} * each, each); });
  return shards;
}

DeviceSet MachineLayout::gpus_of_shards(NodeId node, const DeviceSet& shards) const {
  const std::uint32_t each = nodes_[node].shards_per_gpu;
  DeviceSet gpus;
  if (each == 0) return gpus;
  each_device(shards, [&](std::uint32_t shard) { gpus.set(shard / each); });
  return gpus;
}

void MachineLayout::rank_nodes(std::span<const model::NodeRecord> records) {
  by_rank_.resize(nodes_.size());
  std::iota(by_rank_.begin(), by_rank_.end(), 0u);
  std::stable_sort(by_rank_.begin(), by_rank_.end(),
                   [&](NodeId a, NodeId b) { return nodes_[a].weight < nodes_[b].weight; });
  for (std::uint32_t rank = 0; rank < by_rank_.size(); ++rank) nodes_[by_rank_[rank]].rank = rank;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    for (const auto& feature : records[id].features()) {
      const auto feature_id = intern<FeatureId>(features_, feature);
      if (feature_nodes_.size() <= feature_id) feature_nodes_.emplace_back(nodes_.size());
      feature_nodes_[feature_id].set(nodes_[id].rank);
    }
  }
}

Status MachineLayout::add_partition(const PartitionNodes& partition) {
  if (find_partition(partition.name)) return failure("partition " + partition.name + " is given twice");
  LayoutPartition made;
  made.name = partition.name;
  made.members = RankSet(nodes_.size());
  for (const auto& name : partition.nodes) {
    const auto node = find_node(name);
    if (!node) {
      return failure("partition " + partition.name + ": there is no node " + name, model::kInvalidNodeName);
    }
    if (made.members.test(nodes_[*node].rank)) continue;
    made.members.set(nodes_[*node].rank);
    ++made.size;
    const LayoutNode& member = nodes_[*node];
    made.most_cpus = std::max(made.most_cpus, member.cpus);
    if (made.size == 1) made.first_memory_mib = member.memory_mib;
  }
  partitions_.push_back(std::move(made));
  return {};
}

std::optional<NodeId> MachineLayout::find_node(std::string_view name) const {
  const auto found = node_ids_.find(std::string(name));
  if (found == node_ids_.end()) return std::nullopt;
  return found->second;
}

std::optional<PartitionId> MachineLayout::find_partition(std::string_view name) const {
  const auto found = index_of(partitions_, [&](const LayoutPartition& p) { return p.name == name; });
  if (!found) return std::nullopt;
  return static_cast<PartitionId>(*found);
}

std::optional<LicenseId> MachineLayout::find_license(std::string_view name) const {
  const auto found = index_of(licenses_, [&](const LicensePool& l) { return l.name == name; });
  if (!found) return std::nullopt;
  return static_cast<LicenseId>(*found);
}

std::optional<FeatureId> MachineLayout::find_feature(std::string_view name) const {
  const auto found = index_of(features_, [&](const std::string& f) { return f == name; });
  if (!found) return std::nullopt;
  return static_cast<FeatureId>(*found);
}

std::optional<GresNameId> MachineLayout::find_gres_name(std::string_view name) const {
  const auto found = index_of(gres_names_, [&](const std::string& g) { return g == name; });
  if (!found) return std::nullopt;
  return static_cast<GresNameId>(*found);
}

std::optional<GresKindId> MachineLayout::find_gres_kind(GresNameId name, std::string_view type) const {
  const auto found = index_of(kinds_, [&](const GresKind& k) { return k.name == name && k.type == type; });
  if (!found) return std::nullopt;
  return static_cast<GresKindId>(*found);
}

}  // namespace minke::sched
