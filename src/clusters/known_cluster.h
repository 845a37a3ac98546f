// Well-known clusters: one record for each, with everything that Minke knows of it. The figures are
// the published ones.
//
// Plain data, made once and never changed; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "clusters/tier.h"

namespace minke::clusters {

// The cores and memory that come with one Reference GPU Unit (RGU).
struct Bundle {
  double cores = 0;
  double memory_gb = 0;
};

// One kind of GPU that jobs can ask for.
struct GpuOffer {
  std::string_view specifier;   // the value for --gpus-per-node: "a100"
  std::string_view rgu_type;    // as in accounts/billing.h; empty: no value is published
  double memory_gib = 0;        // of one
  uint32_t per_node = 0;        // 1 for a part (MIG): a job has at most one
  uint32_t cores = 0;           // that go with one
  uint32_t memory_gb = 0;       // main memory that goes with one; 0: not requested there
  bool is_part = false;         // an instance of a divided GPU
  uint32_t least_per_node = 1;  // whole nodes only: per_node
  std::string_view constraint;  // --constraint; empty: none
  bool one_or_all = false;      // a job has one of a node's GPUs, or all of them
  uint32_t nodes = 0;           // that have it; 0: more than any job needs
};

struct KnownCluster {
  std::string_view name;  // "narval"
  std::optional<Bundle> bundle;
  std::vector<GpuOffer> gpus;  // the smallest first; empty: not known
  std::vector<Tier> tiers;     // paths below the root of its storage; empty: not known
};

const std::vector<KnownCluster>& known_clusters();
// Returns null for a cluster that is not known.
const KnownCluster* find_cluster(std::string_view name);

}  // namespace minke::clusters
