#include "sched/machine.h"

#include <algorithm>
#include <bit>

#include "model/cluster.pb.h"
#include "model/error.h"
#include "sched/explain.h"
#include "sched/placer.h"

namespace minke::sched {
namespace {

// Keeps sets of those with at least 2^i: one member has `now` instead of `before`.
void set_level(std::vector<RankSet>& sets, std::uint32_t rank, std::int64_t before, std::int64_t now) {
  const auto levels = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(now)));
  auto level = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(before)));
  for (; level < levels; ++level) sets[level].set(rank);
  for (; level > levels; --level) sets[level - 1].clear(rank);
}

}  // namespace

Machine::Machine(MachineLayout layout)
    : layout_(std::make_shared<const MachineLayout>(std::move(layout))), growth_(layout_->nodes().size()) {
  nodes_.resize(layout_->nodes().size());
  std::uint32_t most_cpus = 1;
  for (const LayoutNode& node : layout_->nodes()) most_cpus = std::max(most_cpus, node.cpus);
  std::uint64_t most_devices = 1;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    std::uint64_t devices = 0;
    for (const GresPool& pool : layout_->pools_of(id)) devices += pool.units;
    most_devices = std::max(most_devices, devices);
  }
  with_free_cpus_.assign(static_cast<std::size_t>(std::bit_width(most_cpus)), RankSet(nodes_.size()));
  with_free_devices_.assign(static_cast<std::size_t>(std::bit_width(most_devices)), RankSet(nodes_.size()));
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    nodes_[id].free_cpus = layout_->nodes()[id].cpus;
    nodes_[id].free_memory_mib = static_cast<std::int64_t>(layout_->nodes()[id].memory_mib);
    count_cpus(id);
    for (const GresPool& pool : layout_->pools_of(id)) {
      free_devices_.emplace_back();
      free_device_counts_.push_back(0);
      withheld_devices_.emplace_back();
      held_devices_.emplace_back();
      held_units_.push_back(0);
      set_free_devices(id, free_devices_.size() - 1, pool.devices);
      hold_units(id, free_devices_.size() - 1, 0);
    }
  }
  for (const LicensePool& pool : layout_->licenses()) free_licenses_.push_back(pool.count);
  schedulable_.assign(layout_->partitions().size(), 1);
}

Result<Machine> Machine::build(std::span<const model::NodeRecord> nodes,
                               std::span<const PartitionNodes> partitions,
                               std::vector<LicensePool> licenses) {
  auto layout = MachineLayout::build(nodes, partitions, std::move(licenses));
  if (!layout) return failure(layout.error());
  Machine machine(std::move(*layout));
  for (NodeId id = 0; id < nodes.size(); ++id)
    machine.set_available(id, nodes[id].state() == model::NODE_IDLE);
  return machine;
}

std::optional<Placement> Machine::place(const Request& request) const {
  return place_together(*this, request, nullptr, 0, 0);
}

bool Machine::could_on_available(const Request& request) const {
  return Placer(*this, View::kIdleAvailable).select(request) &&
         std::all_of(request.companions.begin(), request.companions.end(), [this](const Request& companion) {
           return schedulable(companion.partition) && could_on_available(companion);
         });
}

Status Machine::could_ever(const Request& request) const {
  for (const LicenseDemand& demand : request.licenses) {
    const LicensePool& pool = layout_->licenses()[demand.license];
    if (demand.count > pool.count) {
      return failure("--licenses: there are only " + std::to_string(pool.count) + " of " + pool.name,
                     model::kInvalidLicenses);
    }
  }
  if (!Placer(*this, View::kIdle).select(request)) return explain_impossible(*this, request);
  if (request.companions.empty()) return {};
  for (const Request& companion : request.companions) {
    if (auto possible = could_ever(companion); !possible) return possible;
  }
  Machine idle(*layout_);
  if (idle.place(request)) return {};
  return failure("the components fit one by one, but not all at once", model::kNodeConfigUnavailable);
}

bool Machine::has_license(const LicenseDemand& demand, std::uint32_t reservation, std::int64_t from,
                          std::int64_t end) const {
  const std::int64_t withheld =
      holds_ == nullptr ? 0 : holds_->withheld(demand.license, reservation, from, end, held_licenses_in_use_);
  return free_licenses_[demand.license] - withheld >= demand.count;
}

bool Machine::has_licenses(const Request& request, std::int64_t from, std::int64_t end) const {
  const auto is_free = [&](const LicenseDemand& demand) {
    return has_license(demand, request.reservation, from, end);
  };
  return request.any_license ? std::any_of(request.licenses.begin(), request.licenses.end(), is_free)
                             : std::all_of(request.licenses.begin(), request.licenses.end(), is_free);
}

void Machine::allocate(const Placement& placement) {
  book(placement, false);
}
void Machine::adopt(const Placement& placement) {
  book(placement, true);
}

void Machine::book(const Placement& placement, bool may_exceed) {
  for (const NodeShare& share : placement.nodes) {
    NodeState& node = nodes_[share.node];
    node.free_cpus -= share.cpus;
    node.free_memory_mib -= static_cast<std::int64_t>(share.memory_mib);
    MINKE_CHECK(may_exceed || (node.free_cpus >= 0 && (share.memory_mib == 0 || node.free_memory_mib >= 0)));
    for (const GresShare& gres : share.gres) {
      const std::size_t pool = pool_index(share.node, gres.kind);
      const DeviceSet withheld = may_exceed ? withheld_devices_[pool] : DeviceSet{};
      MINKE_CHECK((gres.devices & ~(free_devices_[pool] | withheld)).none());
      MINKE_CHECK(may_exceed || static_cast<std::int64_t>(gres.units) <= free_device_counts_[pool]);
      hold_devices(share.node, gres, true);
    }
    count_cpus(share.node);
    count_rules(share, 1);
  }
  for (const LicenseShare& share : placement.licenses) free_licenses_[share.license] -= share.count;
  count_held(placement, 1);
}

void Machine::count_rules(const NodeShare& share, std::int64_t sign) {
  const NodeRules& rules = share.rules;
  if (rules.cpu_group != 0) {
    const auto counted = group_cpus_.try_emplace({share.node, rules.cpu_group}, 0).first;
    counted->second += sign * std::int64_t{share.cpus};
    if (counted->second == 0) group_cpus_.erase(counted);
  }
  if (rules.user != 0) {
    const auto counted = users_.try_emplace({share.node, rules.user}).first;
    counted->second.all += sign;
    counted->second.alone += rules.alone ? sign : 0;
    if (counted->second.all == 0) users_.erase(counted);
  }
}

bool Machine::welcomes(NodeId node, const NodeRules& rules) const {
  if (rules.user == 0) return true;
  for (auto at = users_.lower_bound({node, 0}); at != users_.end() && at->first.first == node; ++at) {
    const NodeRules there{.user = at->first.second, .alone = at->second.alone > 0};
    if (rules.repels(there)) return false;
  }
  return true;
}

void Machine::count_held(const Placement& placement, std::int64_t sign) {
  if (placement.reservation == 0 || !holds_) return;
  for (const NodeShare& share : placement.nodes) {
    const auto at = holds_->find(share.node, placement.reservation);
    if (!at) continue;
    const Hold& hold = holds_->all()[*at];
    held_in_use_[*at].cpus += sign * std::int64_t{share.cpus};
    for (const GresShare& gres : share.gres) {
      for (std::size_t i = 0; i < hold.gres.size(); ++i)
        if (hold.gres[i].counts(layout_->gres_kinds()[gres.kind].name, gres.kind))
          held_in_use_[*at].gres[i] += sign * std::int64_t{gres.count()};
    }
  }
  for (const LicenseShare& share : placement.licenses) {
    for (std::size_t i = 0; i < holds_->licenses().size(); ++i) {
      const LicenseHold& hold = holds_->licenses()[i];
      if (hold.when.id == placement.reservation && hold.license == share.license)
        held_licenses_in_use_[i] += sign * std::int64_t{share.count};
    }
  }
}

void Machine::set_holds(std::shared_ptr<const Holds> holds, const RunningSet& running) {
  holds_ = holds != nullptr && holds->empty() ? nullptr : std::move(holds);
  held_in_use_.assign(holds_ ? holds_->all().size() : 0, {});
  for (std::size_t i = 0; i < held_in_use_.size(); ++i)
    held_in_use_[i].gres.assign(holds_->all()[i].gres.size(), 0);
  held_licenses_in_use_.assign(holds_ ? holds_->licenses().size() : 0, 0);
  for (const auto& [end, placement] : running.by_end()) count_held(placement, 1);
  hold_changed();
}

void Machine::release(const Placement& placement) {
  growth_.count();
  for (const NodeShare& share : placement.nodes) {
    NodeState& node = nodes_[share.node];
    const LayoutNode& offered = layout_->nodes()[share.node];
    node.free_cpus += share.cpus;
    node.free_memory_mib += static_cast<std::int64_t>(share.memory_mib);
    MINKE_CHECK(node.free_cpus <= offered.cpus);
    MINKE_CHECK(node.free_memory_mib <= static_cast<std::int64_t>(offered.memory_mib));
    for (const GresShare& gres : share.gres) {
      const std::size_t pool = pool_index(share.node, gres.kind);
      MINKE_CHECK(!layout_->pools()[pool].is_consumed || (gres.devices & free_devices_[pool]).none());
      MINKE_CHECK((gres.devices & ~layout_->pools()[pool].devices).none());
      hold_devices(share.node, gres, false);
    }
    count_cpus(share.node);
    count_rules(share, -1);
    growth_.of_node(share.node);
  }
  for (const LicenseShare& share : placement.licenses) free_licenses_[share.license] += share.count;
  count_held(placement, -1);
  if (!placement.licenses.empty() || holds_ != nullptr) growth_.of_all();
}

void Machine::set_available(NodeId node, bool available) {
  if (nodes_[node].available == available) return;
  nodes_[node].available = available;
  unavailable_ += available ? -1 : 1;
  ++availability_;
  count_cpus(node);
  if (!available) return;
  growth_.count();
  growth_.of_node(node);
}

void Machine::set_schedulable(PartitionId partition, bool schedulable) {
  schedulable_[partition] = schedulable ? 1 : 0;
  ++availability_;
  if (schedulable) growth_.of_all();
}

std::size_t Machine::pool_index(NodeId node, GresKindId kind) const {
  const auto pools = layout_->pools_of(node);
  const auto found =
      std::find_if(pools.begin(), pools.end(), [&](const GresPool& p) { return p.kind == kind; });
  MINKE_CHECK(found != pools.end());
  return layout_->nodes()[node].first_pool + static_cast<std::size_t>(found - pools.begin());
}

void Machine::withhold(NodeId node, GresNameId name, const DeviceSet& devices) {
  ++availability_;
  const std::span<const GresPool> pools = layout_->pools_of(node);
  for (std::size_t i = 0; i < pools.size(); ++i) {
    if (pools[i].name != name || pools[i].is_only_counted()) continue;
    const std::size_t pool = layout_->nodes()[node].first_pool + i;
    withheld_devices_[pool] |= devices & pools[i].devices;
    set_free_devices(node, pool, free_devices_[pool]);
  }
  if (layout_->is_gpu(name) && layout_->nodes()[node].shards_per_gpu > 0)
    withhold(node, *layout_->find_gres_name("shard"), layout_->shards_of_gpus(node, devices));
}

void Machine::hold_devices(NodeId node, const GresShare& gres, bool held) {
  const LayoutNode& offered = layout_->nodes()[node];
  const std::size_t changed = pool_index(node, gres.kind);
  if (!layout_->pools()[changed].is_consumed) return;
  if (gres.units > 0)
    return hold_units(node, changed, held ? std::int64_t{gres.units} : -std::int64_t{gres.units});
  if (offered.shards_per_gpu == 0) {
    const DeviceSet& free = free_devices_[changed];
    return set_free_devices(node, changed, held ? free & ~gres.devices : free | gres.devices);
  }
  DeviceSet& holds = held_devices_[changed];
  holds = held ? holds | gres.devices : holds & ~gres.devices;
  const std::span<const GresPool> pools = layout_->pools_of(node);
  DeviceSet gpus;
  DeviceSet shards;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    if (layout_->is_gpu(pools[i].name)) gpus |= held_devices_[offered.first_pool + i];
    if (layout_->is_shard(pools[i].name)) shards |= held_devices_[offered.first_pool + i];
  }
  for (std::size_t i = 0; i < pools.size(); ++i) {
    DeviceSet taken = held_devices_[offered.first_pool + i];
    if (layout_->is_gpu(pools[i].name)) taken |= layout_->gpus_of_shards(node, shards);
    if (layout_->is_shard(pools[i].name)) taken |= layout_->shards_of_gpus(node, gpus);
    if (pools[i].is_only_counted()) continue;
    set_free_devices(node, offered.first_pool + i, pools[i].devices & ~taken);
  }
}

void Machine::set_free_devices(NodeId node, std::size_t pool, DeviceSet devices) {
  devices &= ~withheld_devices_[pool];
  free_devices_[pool] = devices;
  set_free_count(node, pool, count_of(devices));
}

// Does nothing for a pool of devices. What is booked may exceed what is there (adopt()).
void Machine::hold_units(NodeId node, std::size_t pool, std::int64_t units) {
  const GresPool& offered = layout_->pools()[pool];
  if (!offered.is_only_counted()) return;
  held_units_[pool] += units;
  MINKE_CHECK(held_units_[pool] >= 0);
  set_free_count(
      node, pool,
      static_cast<std::int32_t>(std::max<std::int64_t>(0, std::int64_t{offered.units} - held_units_[pool])));
}

void Machine::set_free_count(NodeId node, std::size_t pool, std::int32_t count) {
  const std::int64_t more = count - free_device_counts_[pool];
  free_device_counts_[pool] = count;
  std::int64_t& of_node = nodes_[node].free_devices;
  set_level(with_free_devices_, layout_->nodes()[node].rank, of_node, of_node + more);
  of_node += more;
  free_devices_in_all_ += more;
}

void Machine::count_cpus(NodeId id) {
  const std::uint32_t rank = layout_->nodes()[id].rank;
  NodeState& node = nodes_[id];
  const std::int64_t cpus = node.available ? std::max<std::int64_t>(0, node.free_cpus) : 0;
  free_cpus_in_all_ += cpus - node.counted_cpus;
  set_level(with_free_cpus_, rank, node.counted_cpus, cpus);
  node.counted_cpus = cpus;
}

bool Machine::operator==(const Machine& other) const {
  return layout_ == other.layout_ && nodes_ == other.nodes_ && free_devices_ == other.free_devices_ &&
         withheld_devices_ == other.withheld_devices_ && held_devices_ == other.held_devices_ &&
         held_units_ == other.held_units_ && free_licenses_ == other.free_licenses_ &&
         schedulable_ == other.schedulable_ && group_cpus_ == other.group_cpus_ && users_ == other.users_;
}

}  // namespace minke::sched
