// Machine: the free resources of each node. It answers whether and where a request fits now, and books it.
//
// Invariants: free plus withheld plus allocated resources equal what the layout offers, and no device is held
// twice. (adopt() may book more than there is; free counts are then negative until the release.) allocate()
// followed by release() of the same placement restores every bit. Copies share the layout and are cheap, so
// they serve as scratch pads. Owned by one thread; deterministic, no clock, no I/O.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/cluster.pb.h"
#include "sched/growth.h"
#include "sched/holds.h"
#include "sched/ids.h"
#include "sched/layout.h"
#include "sched/placement.h"
#include "sched/request.h"
#include "sched/running_set.h"

namespace minke::sched {

class Machine {
 public:
  explicit Machine(MachineLayout layout);
  static Result<Machine> build(std::span<const model::NodeRecord> nodes,
                               std::span<const PartitionNodes> partitions,
                               std::vector<LicensePool> licenses = {});

  const MachineLayout& layout() const { return *layout_; }

  // A placement on what is free now, or nothing. It takes the fewest nodes; among those the nodes with lower
  // weight, then in the order of the layout. Tasks fill the nodes in that order (block distribution), at
  // least one on each node. Devices with the lowest numbers come first.
  std::optional<Placement> place(const Request& request) const;
  // Whether it fits if no job runs, on the nodes that are available now.
  bool could_on_available(const Request& request) const;
  // Whether it fits if no job runs and all nodes are available. The error (mostly 2014) says what is missing.
  Status could_ever(const Request& request) const;

  // The placement must be free: place() returned it after the last allocate().
  void allocate(const Placement& placement);
  // Books a job that already runs, even if the machine has shrunk since it was placed.
  void adopt(const Placement& placement);
  // The placement must be held. Resources of an unavailable node remain unusable.
  void release(const Placement& placement);

  // A node that is down or drained is not available: no new job is placed there. Running jobs keep resources.
  void set_available(NodeId node, bool available);
  bool available(NodeId node) const { return nodes_[node].available; }
  bool all_available() const { return unavailable_ == 0; }
  // Broken devices. A job that holds one keeps it; afterwards nobody gets it.
  void withhold(NodeId node, GresNameId name, const DeviceSet& devices);
  // Sets what reservations hold. `running` has all running jobs, which may belong to a reservation.
  void set_holds(std::shared_ptr<const Holds> holds, const RunningSet& running);
  const Holds* holds() const { return holds_.get(); }  // null: nothing is held
  // Indexed like holds()->all(): what the reservation's own jobs use.
  const std::vector<HoldUse>& held_in_use() const { return held_in_use_; }
  // Call it when a hold begins or ends.
  void hold_changed() { growth_.of_all(); }
  // A partition that is not UP starts no jobs. All partitions are schedulable at first.
  void set_schedulable(PartitionId partition, bool schedulable);
  bool schedulable(PartitionId partition) const { return schedulable_[partition] != 0; }

  // CPUs of the node that jobs of such a group (NodeRules) may still get, free or not.
  std::int64_t group_cpus_left(NodeId node, const NodeRules& rules) const {
    const auto held = group_cpus_.find({node, rules.cpu_group});
    const std::int64_t most = rules.cpus_on(layout_->nodes()[node].sockets);
    return most - (held == group_cpus_.end() ? 0 : held->second);
  }
  // Whether a job with these rules may share the node with the users who have jobs there.
  bool welcomes(NodeId node, const NodeRules& rules) const;

  std::int64_t free_cpus(NodeId node) const { return nodes_[node].free_cpus; }
  std::int64_t free_memory_mib(NodeId node) const { return nodes_[node].free_memory_mib; }
  const DeviceSet& free_devices(std::size_t pool) const {
    return free_devices_[pool];
  }  // as layout().pools()
  std::int32_t free_device_count(std::size_t pool) const { return free_device_counts_[pool]; }
  std::int64_t free_licenses(LicenseId license) const { return free_licenses_[license]; }
  // Whether enough licenses are free, and not held by reservations at any moment of [from, end).
  bool has_licenses(const Request& request, std::int64_t from, std::int64_t end) const;
  bool has_license(const LicenseDemand& demand, std::uint32_t reservation, std::int64_t from,
                   std::int64_t end) const;
  std::int64_t free_devices_of(NodeId node) const { return nodes_[node].free_devices; }
  std::uint64_t most_node_cpus() const {
    return (std::uint64_t{1} << with_free_cpus_.size()) - 1;
  }  // a bound
  // Upper bounds on what can be placed: the free CPUs of all available nodes, the free devices of all nodes.
  std::int64_t free_cpus_in_all() const { return free_cpus_in_all_; }
  std::int64_t free_devices_in_all() const { return free_devices_in_all_; }
  // Contains all available nodes with so many free CPUs; the bound is rounded down to a power of two.
  const RankSet& with_free_cpus(std::uint64_t cpus) const {
    return with_free_cpus_[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(cpus | 1)),
                                                 with_free_cpus_.size()) -
                           1];
  }
  // The same for free devices of all names together; unavailable nodes count too.
  const RankSet& with_free_devices(std::uint64_t devices) const {
    return with_free_devices_[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(devices | 1)),
                                                    with_free_devices_.size()) -
                              1];
  }
  std::size_t words() const { return with_free_cpus_.front().word_count(); }  // size of such a set
  // Grows whenever something becomes free or available. What did not fit at one value does not fit later at
  // the same value; at a higher one only if a node that grew since can host a part of it.
  std::uint64_t growth() const { return growth_.now(); }
  const Growth& grown() const { return growth_; }
  // Changes when the availability of a node or partition changes.
  std::uint64_t availability() const { return availability_; }
  // Call it when limits outside of the machine may allow more than before.
  void limits_changed() { growth_.of_all(); }

  bool operator==(const Machine& other) const;  // what is free and available; the layout must be the same

 private:
  struct NodeState {
    std::int64_t free_cpus = 0;
    std::int64_t free_memory_mib = 0;
    std::int64_t free_devices = 0;
    std::int64_t counted_cpus = 0;  // of free_cpus_in_all_ and with_free_cpus_
    bool available = true;
    bool operator==(const NodeState&) const = default;
  };
  void book(const Placement& placement, bool may_exceed);
  void count_held(const Placement& placement, std::int64_t sign);
  void count_rules(const NodeShare& share, std::int64_t sign);
  std::size_t pool_index(NodeId node, GresKindId kind) const;
  void count_cpus(NodeId node);
  void set_free_devices(NodeId node, std::size_t pool, DeviceSet devices);
  void set_free_count(NodeId node, std::size_t pool, std::int32_t count);
  void hold_units(NodeId node, std::size_t pool, std::int64_t units);
  void hold_devices(NodeId node, const GresShare& gres, bool held);

  std::shared_ptr<const MachineLayout> layout_;
  std::vector<NodeState> nodes_;
  std::vector<DeviceSet> free_devices_;
  std::vector<std::int32_t> free_device_counts_;
  std::vector<DeviceSet> withheld_devices_;
  std::vector<DeviceSet> held_devices_;   // of nodes that have shards; else empty
  std::vector<std::int64_t> held_units_;  // of pools whose units are only counted
  std::vector<std::int64_t> free_licenses_;
  std::shared_ptr<const Holds> holds_;
  std::vector<HoldUse> held_in_use_;
  std::vector<std::int64_t> held_licenses_in_use_;
  // By node and group, and by node and user. Entries with 0 are removed.
  std::map<std::pair<NodeId, std::uint32_t>, std::int64_t> group_cpus_;
  struct Jobs {
    std::int64_t all = 0;
    std::int64_t alone = 0;
    bool operator==(const Jobs&) const = default;
  };
  std::map<std::pair<NodeId, std::uint32_t>, Jobs> users_;
  std::vector<RankSet> with_free_cpus_;     // [i]: nodes with at least 2^i
  std::vector<RankSet> with_free_devices_;  // the same
  std::vector<std::uint8_t> schedulable_;
  std::int64_t free_cpus_in_all_ = 0;
  std::int64_t free_devices_in_all_ = 0;
  std::uint32_t unavailable_ = 0;
  Growth growth_;
  std::uint64_t availability_ = 1;
};

}  // namespace minke::sched
