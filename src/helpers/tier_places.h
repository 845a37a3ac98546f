// The places of a cluster's tiers for all users who have a directory there: everybody in a shared cluster,
// the owner in a personal one. One thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "storage/tiers.h"

namespace minke::helpers {

struct TierPlace {
  std::string path;
  std::string user;  // the owner; empty: a group's
  uid_t uid = 0;
  gid_t gid = 0;
};

// Returns only directories that exist, and belong to the user that they are named after.
std::vector<TierPlace> tier_places(const storage::Tier& tier, const std::vector<storage::Tier>& all,
                                   bool shared);

}  // namespace minke::helpers
