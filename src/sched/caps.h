// Caps: what a reservation leaves on its nodes for jobs that will still run when it begins.
//
// A cap applies to jobs whose run [from, end) contains the cap's start; jobs that end before may use
// everything. GRES are counted by kind, not by device, because a reservation gets its devices only when it
// starts. A job with shards of a GPU counts as having all of it. Internal to sched; owned by one pass.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sched/layout.h"
#include "sched/placement.h"

namespace minke::sched {

// What a node can give. counts[i] belongs to the i-th pool of the node.
struct NodeSupply {
  std::int64_t cpus = 0;
  std::int64_t memory_mib = 0;
  std::array<std::int32_t, MachineLayout::kMaxPoolsPerNode> counts;  // set up to the node's pool_count
};

class Caps {
 public:
  explicit Caps(const MachineLayout& layout) : layout_(&layout) {}

  bool empty() const { return caps_.empty(); }
  // `rules` are the rules of the reserved job; its group_cpus is what it leaves of them.
  void add(NodeId node, std::int64_t start, const NodeSupply& supply, const NodeRules& rules = {});
  // Lowers `supply` to what a job with these rules that runs in [from, end) may use of the node.
  void limit(NodeId node, std::int64_t from, std::int64_t end, const NodeRules& rules,
             NodeSupply& supply) const;
  // The same for CPUs alone, lowering `free`. Returns the CPUs that the job may use.
  std::int64_t cpus(NodeId node, std::int64_t from, std::int64_t end, std::int64_t free) const;
  // Whether a job that runs in [from, end) may have this placement.
  bool allow(const Placement& placement, std::int64_t from, std::int64_t end) const;
  // Books a job that runs in [from, end) on all caps that apply to it.
  void consume(const Placement& placement, std::int64_t from, std::int64_t end);

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Cap {
    std::int64_t start = 0;
    NodeSupply left;
    NodeRules rules;
    std::int64_t group_left = 0;
    std::size_t next = kNone;  // of the same node
  };
  // Calls visit(index in caps_) for the caps of the node that apply to [from, end).
  template <typename Visit>
  void each(NodeId node, std::int64_t from, std::int64_t end, Visit visit) const;

  // The part of `cpus` that the cap's own rules leave to a job with these rules.
  static std::int64_t cpus_under(const Cap& cap, const NodeRules& rules, std::int64_t cpus);
  std::int32_t most_gpus(std::span<const GresPool> pools, const NodeSupply& left) const;

  const MachineLayout* layout_;
  std::vector<std::size_t> first_;  // by node; empty while there are no caps
  std::vector<Cap> caps_;
};

}  // namespace minke::sched
