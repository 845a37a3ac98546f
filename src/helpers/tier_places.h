// Where the tiers of a cluster are for all who have a directory there: in a shared cluster everybody, in a
// personal one its owner. One thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "storage/tiers.h"

namespace minke::helpers {

struct TierPlace {
  std::string path;
  std::string user;  // whose it is; empty: a group's
  uid_t uid = 0;
  gid_t gid = 0;
};

// Only directories that are there, and belong to whom they are named after.
std::vector<TierPlace> tier_places(const storage::Tier& tier, const std::vector<storage::Tier>& all,
                                   bool shared);

}  // namespace minke::helpers
