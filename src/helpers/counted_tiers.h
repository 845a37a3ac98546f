// What a person has in the cluster's tiers of storage: the figures of diskusage_report. Blocking; any thread.
#pragma once

#include <string>
#include <vector>

#include "helpers/my_tiers.h"
#include "storage/tiers.h"
#include "storage/usage_scan.h"

namespace minke::helpers {

struct CountedTier {
  storage::Tier tier;
  std::string path, group;
  bool there = false;   // and counted
  std::string problem;  // why it is not counted
  storage::Usage usage;
};

enum class Counting {
  kKept,    // where the cluster keeps count: at once
  kWalk,    // and where it does not, a walk through the tree, which may take long
  kOwners,  // a walk everywhere: with what each owner has
};

// `wanted`: names of tiers; none: all.
std::vector<CountedTier> count_tiers(const TierConfiguration& cluster, const Person& person,
                                     const std::vector<std::string>& wanted, Counting counting);

}  // namespace minke::helpers
