// MachineLayout: what the cluster consists of, as far as scheduling needs to know. Immutable once built, so a
// Machine and all its copies share it. When nodes, partitions or resources change, a new layout is built, and
// with it a new Machine and a new PendingQueue (ids and requests belong to one layout). Any thread.
//
// A node's `rank` is its place in the order in which nodes are filled: by weight, then as configured. Sets of
// nodes are bit sets over ranks, so that a search skips 64 unsuitable nodes at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/cluster.pb.h"
#include "sched/device_set.h"
#include "sched/ids.h"

namespace minke::sched {

// A set of ranks, one bit each.
class RankSet {
 public:
  RankSet() = default;
  explicit RankSet(std::size_t size) : words_((size + 63) / 64) {}
  void set(std::size_t rank) { words_[rank / 64] |= std::uint64_t{1} << (rank % 64); }
  void clear(std::size_t rank) { words_[rank / 64] &= ~(std::uint64_t{1} << (rank % 64)); }
  bool test(std::size_t rank) const { return (words_[rank / 64] >> (rank % 64)) & 1; }
  std::size_t word_count() const { return words_.size(); }
  std::uint64_t word(std::size_t index) const { return words_[index]; }

 private:
  std::vector<std::uint64_t> words_;
};

// A partition and its nodes, expanded from the hostlist.
struct PartitionNodes {
  std::string name;
  std::vector<std::string> nodes;
};

// `count` licenses called `name`. They belong to the whole machine.
struct LicensePool {
  std::string name;
  std::uint32_t count = 0;
};

struct GresKind {
  GresNameId name = 0;
  std::string type;  // may be empty
};

// Devices of one kind on one node. A device of the GRES "shard" is a part of a GPU: GPU number g has
// the shards from g * shards_per_gpu on, or one less than that if they are not as many for each. A job that
// gets a GPU gets all of it. While shards of a GPU are in use, nobody gets that GPU.
struct GresPool {
  GresKindId kind = 0;
  GresNameId name = 0;
  bool is_consumed = true;   // else any number of jobs may have the same devices (no_consume)
  DeviceSet devices;         // numbers run through all kinds of the name in the order offered
  std::uint32_t units = 0;   // how many there are
  bool is_explicit = false;  // who has the whole node has those that it asks for, and no others
  // More than a set can have: they have no numbers.
  bool is_only_counted() const { return devices.none(); }
};

struct LayoutNode {
  std::string name;
  std::uint32_t cpus = 0;
  std::uint32_t sockets = 1;
  std::uint32_t cores = 1;
  std::uint64_t memory_mib = 0;
  std::uint64_t tmp_mib = 0;
  std::uint32_t weight = 0;
  std::uint32_t rank = 0;
  std::uint32_t first_pool = 0;  // in pools()
  std::uint32_t pool_count = 0;
  std::uint32_t shards_per_gpu = 0;  // at most; 0: its GPUs are not shared
};

struct LayoutPartition {
  std::string name;
  RankSet members;
  std::uint32_t size = 0;
  std::uint32_t most_cpus = 0;         // of the node that has most
  std::uint64_t first_memory_mib = 0;  // of the node that it names first
};

class MachineLayout {
 public:
  static constexpr std::uint32_t kMaxDevices = kMostDevices;  // GPUs, or shards, of one node
  static constexpr std::uint32_t kMaxUnits = 1u << 30;        // of another GRES name on one node
  static constexpr std::uint32_t kMaxPoolsPerNode = 16;

  // Fails, and names the culprit, if two nodes or partitions have one name, a partition's node does not
  // exist, a node has no CPUs, a node has more of a GRES, or more kinds, than the limits above, or it has
  // shards of no GPUs.
  static Result<MachineLayout> build(std::span<const model::NodeRecord> nodes,
                                     std::span<const PartitionNodes> partitions,
                                     std::vector<LicensePool> licenses = {});

  const std::vector<LayoutNode>& nodes() const { return nodes_; }
  const std::vector<LayoutPartition>& partitions() const { return partitions_; }
  const std::vector<GresPool>& pools() const { return pools_; }
  std::span<const GresPool> pools_of(NodeId node) const {
    return std::span(pools_).subspan(nodes_[node].first_pool, nodes_[node].pool_count);
  }
  NodeId node_at_rank(std::size_t rank) const { return by_rank_[rank]; }
  const std::vector<GresKind>& gres_kinds() const { return kinds_; }
  const std::string& gres_name(GresNameId id) const { return gres_names_[id]; }
  const RankSet& nodes_with_feature(FeatureId id) const { return feature_nodes_[id]; }
  const std::string& feature_name(FeatureId id) const { return features_[id]; }

  const std::vector<LicensePool>& licenses() const { return licenses_; }

  std::optional<LicenseId> find_license(std::string_view name) const;
  std::optional<NodeId> find_node(std::string_view name) const;
  std::optional<PartitionId> find_partition(std::string_view name) const;
  std::optional<FeatureId> find_feature(std::string_view name) const;
  std::optional<GresNameId> find_gres_name(std::string_view name) const;
  std::optional<GresKindId> find_gres_kind(GresNameId name, std::string_view type) const;
  bool is_shard(GresNameId name) const { return shard_name_ == name; }
  bool is_gpu(GresNameId name) const { return gpu_name_ == name; }
  // On a node with shards: all shards of these GPUs, and the GPUs that these shards are of.
  DeviceSet shards_of_gpus(NodeId node, const DeviceSet& gpus) const;
  DeviceSet gpus_of_shards(NodeId node, const DeviceSet& shards) const;
  // The name "gpu", which --cpus-per-gpu and --mem-per-gpu count; nothing where no node has one.
  std::optional<GresNameId> gpu_name() const { return gpu_name_; }

 private:
  Status add_node(const model::NodeRecord& record);
  Status add_gres(const model::NodeRecord& record, LayoutNode& node);
  Status share_gpus(LayoutNode& node);
  Status add_partition(const PartitionNodes& partition);
  void rank_nodes(std::span<const model::NodeRecord> records);

  std::vector<LayoutNode> nodes_;
  std::vector<NodeId> by_rank_;
  std::vector<GresPool> pools_;
  std::vector<GresKind> kinds_;
  std::vector<std::string> gres_names_;
  std::optional<GresNameId> gpu_name_;
  std::optional<GresNameId> shard_name_;
  std::vector<std::string> features_;
  std::vector<RankSet> feature_nodes_;
  std::vector<LayoutPartition> partitions_;
  std::vector<LicensePool> licenses_;
  std::unordered_map<std::string, NodeId> node_ids_;  // looked up only, never walked
};

}  // namespace minke::sched
