// The places of a cluster's tiers for all users who have a directory there: everybody in a shared cluster,
// the owner in a personal one. One thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "storage/mounts.h"
#include "storage/tiers.h"

namespace minke::helpers {

struct TierPlace {
  std::string path;
  std::string user;  // the owner; empty: a group's
  uid_t uid = 0;
  gid_t gid = 0;
};

// Which directories this machine keeps: purges, counts as they change, makes snapshots of. Those on its own
// disks, always. Those on a network file system, if it is the `keeper` ([storage] keeper), or if none is
// named: there is only one machine then.
class KeptHere {
 public:
  explicit KeptHere(const std::string& keeper);
  bool keeps(const std::string& path) const;
  // Whether other machines may use the directory, too.
  bool is_on_network(const std::string& path) const;

 private:
  storage::Mounts mounts_;
  bool network_too_;
};

// Returns only directories that exist, belong to the user that they are named after, and are kept here. It
// does not touch the others: the server of their file system may be gone.
std::vector<TierPlace> tier_places(const storage::Tier& tier, const std::vector<storage::Tier>& all,
                                   bool shared, const KeptHere& here);

}  // namespace minke::helpers
