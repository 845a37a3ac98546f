// The user whose tiers of storage the commands show, and where those are. One thread.
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
  std::vector<gid_t> groups = {};  // all that the person has
};

Person whoever_runs_this();
// An empty name means the calling user. Fails if there is no such user, and if a user other than root
// asks for another one.
Result<Person> person_named(const std::string& user);

struct TierConfiguration {
  config::StorageConfiguration storage;
  std::string home;                  // the cluster's
  std::vector<storage::Tier> tiers;  // none: the cluster has none
};
Result<TierConfiguration> tier_configuration();
// Fails if the cluster has none (kNoTiers).
Result<TierConfiguration> cluster_with_tiers();
Result<std::vector<storage::Tier>> configured_tiers();

// A tier as one person has it. A tier of groups is there once for each project.
struct PersonTier {
  storage::Tier tier;  // with the group's own limits
  size_t index = 0;    // of the tier among the cluster's
  std::string path;
  std::string group;
  gid_t gid = 0;
};
// `patterns`: [storage] project_groups. The group that only the person is in is a project if there is no
// other, or if its directory is there.
std::vector<PersonTier> tiers_of(const std::vector<storage::Tier>& tiers, const Person& person,
                                 const std::vector<std::string>& patterns);

// Returns lines for a login shell: export SCRATCH=…, unless the shell has one. Empty if there are no tiers.
std::string tier_exports(bool csh);

}  // namespace minke::helpers
