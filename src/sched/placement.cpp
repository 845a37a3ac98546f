#include "sched/placement.h"

#include <algorithm>

#include "model/job_record.pb.h"
#include "model/shards.h"
#include "sched/layout.h"
#include "text/gres_count.h"

namespace minke::sched {

std::vector<Placement> split(const Placement& placement) {
  if (placement.parts.empty()) return {placement};
  std::vector<Placement> result;
  auto node = placement.nodes.begin();
  auto license = placement.licenses.begin();
  for (const Placement::Part& part : placement.parts) {
    Placement& one = result.emplace_back();
    one.reservation = placement.reservation;
    one.nodes.assign(node, node + part.nodes);
    one.licenses.assign(license, license + part.licenses);
    node += part.nodes;
    license += part.licenses;
  }
  return result;
}

bool same_amounts(const Placement& a, const Placement& b) {
  const auto same_gres = [](const GresShare& x, const GresShare& y) {
    return x.kind == y.kind && x.count() == y.count();
  };
  const auto same = [&](const NodeShare& x, const NodeShare& y) {
    return x.node == y.node && x.cpus == y.cpus && x.memory_mib == y.memory_mib && x.rules == y.rules &&
           std::equal(x.gres.begin(), x.gres.end(), y.gres.begin(), y.gres.end(), same_gres);
  };
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), same) &&
         a.licenses == b.licenses && a.reservation == b.reservation;
}

Placement merged(const Placement& placement) {
  if (placement.parts.empty()) return placement;
  Placement result;
  result.reservation = placement.reservation;
  result.licenses = placement.licenses;
  for (const NodeShare& share : placement.nodes) {
    const auto known = std::find_if(result.nodes.begin(), result.nodes.end(),
                                    [&](const NodeShare& other) { return other.node == share.node; });
    if (known == result.nodes.end()) {
      result.nodes.push_back(share);
      continue;
    }
    known->cpus += share.cpus;
    known->memory_mib += share.memory_mib;
    known->tasks += share.tasks;
    if (known->rules.cpu_group == 0 || share.rules.alone) known->rules = share.rules;
    for (const GresShare& gres : share.gres) {
      const auto same = std::find_if(known->gres.begin(), known->gres.end(),
                                     [&](const GresShare& other) { return other.kind == gres.kind; });
      if (same == known->gres.end()) {
        known->gres.push_back(gres);
      } else {
        same->devices |= gres.devices;
        same->units += gres.units;
      }
    }
    std::sort(known->gres.begin(), known->gres.end(),
              [](const GresShare& a, const GresShare& b) { return a.kind < b.kind; });
  }
  return result;
}

namespace {

// Of a shard, the stored form says which GPU it is of, whatever number of shards its node's GPUs have.
std::uint32_t shard_index(std::uint32_t shard, std::uint32_t per_gpu) {
  return shard / per_gpu * model::kShardsOfGpu + shard % per_gpu;
}
std::uint32_t shard_of_index(std::uint32_t index, std::uint32_t per_gpu) {
  if (index % model::kShardsOfGpu >= per_gpu || index / model::kShardsOfGpu >= MachineLayout::kMaxDevices)
    return MachineLayout::kMaxDevices;  // none
  return index / model::kShardsOfGpu * per_gpu + index % model::kShardsOfGpu;
}

}  // namespace

NodeAllocations to_model(const MachineLayout& layout, const Placement& placement) {
  NodeAllocations allocations;
  for (const NodeShare& share : placement.nodes) {
    model::NodeAllocation& allocation = *allocations.Add();
    allocation.set_node(layout.nodes()[share.node].name);
    allocation.set_cpus(share.cpus);
    allocation.set_memory_mib(share.memory_mib);
    allocation.set_tasks(share.tasks);
    for (const GresShare& gres : share.gres) {
      const GresKind& kind = layout.gres_kinds()[gres.kind];
      model::GresAllocation& devices = *allocation.add_gres();
      devices.set_name(layout.gres_name(kind.name));
      devices.set_type(kind.type);
      if (gres.units > 0) devices.set_count(gres.units);
      each_device(gres.devices, [&](std::uint32_t device) {
        devices.add_indices(layout.is_shard(kind.name)
                                ? shard_index(device, layout.nodes()[share.node].shards_per_gpu)
                                : device);
      });
    }
  }
  return allocations;
}

Result<Placement> from_model(const MachineLayout& layout, const NodeAllocations& allocations) {
  Placement placement;
  for (const auto& allocation : allocations) {
    const auto node = layout.find_node(allocation.node());
    if (!node) return failure("there is no node " + allocation.node() + " any more");
    NodeShare share{*node, allocation.cpus(), allocation.memory_mib(), allocation.tasks(), {}};
    for (const auto& gres : allocation.gres()) {
      const auto name = layout.find_gres_name(gres.name());
      const auto kind = name ? layout.find_gres_kind(*name, gres.type()) : std::nullopt;
      if (!kind) continue;
      DeviceSet devices;
      for (std::uint32_t index : gres.indices()) {
        if (layout.is_shard(*name)) index = shard_of_index(index, layout.nodes()[*node].shards_per_gpu);
        if (index < MachineLayout::kMaxDevices) devices.set(index);
      }
      DeviceSet offered;
      std::uint32_t units = 0;
      for (const GresPool& pool : layout.pools_of(*node)) {
        if (pool.kind != *kind) continue;
        offered = pool.devices;
        if (pool.is_only_counted()) units = std::min(text::units_of(gres), pool.units);
      }
      devices &= offered;
      if (devices.any() || units > 0) share.gres.push_back({*kind, devices, units});
    }
    std::sort(share.gres.begin(), share.gres.end(),
              [](const GresShare& a, const GresShare& b) { return a.kind < b.kind; });
    placement.nodes.push_back(std::move(share));
  }
  if (placement.nodes.empty()) return failure("an allocation without nodes");
  return placement;
}

}  // namespace minke::sched
