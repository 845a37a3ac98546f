// Whose tiers of storage the commands speak of, and where those are. One thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "config/storage.h"
#include "storage/tiers.h"

namespace minke::helpers {

inline constexpr char kNoTiers[] =
    "this cluster has no tiers of storage; [storage] profile = \"narval\" in minke.toml gives it some";

struct Person {
  std::string user, group, home;
  uid_t uid = 0;
  gid_t gid = 0;
};

Person whoever_runs_this();
// An empty name means whoever runs this. Fails if there is no such user; another one is asked for by somebody
// who is not root.
Result<Person> person_named(const std::string& user);

struct TierConfiguration {
  config::StorageConfiguration storage;
  std::string home;                  // the cluster's
  std::vector<storage::Tier> tiers;  // none: the cluster has none
};
Result<TierConfiguration> tier_configuration();
// Errors: it has none (kNoTiers).
Result<TierConfiguration> cluster_with_tiers();
Result<std::vector<storage::Tier>> configured_tiers();

// Lines for a login shell: export SCRATCH=…, where the shell has none. Nothing where there are no tiers.
std::string tier_exports(bool csh);

}  // namespace minke::helpers
