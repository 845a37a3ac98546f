// Placement: the resources that one job holds, or would hold, on each of its nodes.
//
// Invariants: at least one node; each node once, in the order in which tasks are laid out (lower weight
// first, then the order of the layout); cpus >= 1 and tasks >= 1 on each; no share of GRES is empty. A plain
// value that does not refer to the machine that made it. Any thread.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "model/allocation.pb.h"
#include "sched/device_set.h"
#include "sched/ids.h"

namespace minke::sched {

class MachineLayout;

struct GresShare {
  GresKindId kind = 0;
  DeviceSet devices;        // of that GRES name on that node
  std::uint32_t units = 0;  // of a pool whose units are only counted
  std::uint32_t count() const { return units + static_cast<std::uint32_t>(devices.count()); }
  bool operator==(const GresShare&) const = default;
};

struct NodeShare {
  NodeId node = 0;
  std::uint32_t cpus = 0;
  std::uint64_t memory_mib = 0;
  std::uint32_t tasks = 0;
  std::vector<GresShare> gres;  // ascending by kind
  NodeRules rules = {};         // as in the request
  bool operator==(const NodeShare&) const = default;
};

struct LicenseShare {
  LicenseId license = 0;
  std::uint32_t count = 0;
  bool operator==(const LicenseShare&) const = default;
};

struct Placement {
  std::vector<NodeShare> nodes;
  std::vector<LicenseShare> licenses = {};
  // For a heterogeneous job: how many of `nodes` and of `licenses` belong to each component. A node can then
  // occur several times. Empty: one job without components.
  struct Part {
    std::uint32_t nodes = 0;
    std::uint32_t licenses = 0;
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts = {};
  std::uint32_t reservation = 0;  // as in the request
  bool operator==(const Placement&) const = default;
};

// Returns one placement for each component, or the placement itself if it has no parts.
std::vector<Placement> split(const Placement& placement);
// Whether both hold the same amounts on the same nodes. Devices are counted, not compared.
bool same_amounts(const Placement& a, const Placement& b);
// The same amounts with each node once and without parts, for callers that need only amounts.
Placement merged(const Placement& placement);

using NodeAllocations = google::protobuf::RepeatedPtrField<model::NodeAllocation>;

// The stored form and back. from_model() is for what a restart finds running: it fails where a node is no
// longer part of the layout, and leaves out devices that the node no longer offers.
NodeAllocations to_model(const MachineLayout& layout, const Placement& placement);
Result<Placement> from_model(const MachineLayout& layout, const NodeAllocations& allocations);

}  // namespace minke::sched
