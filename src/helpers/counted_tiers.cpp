#include "helpers/counted_tiers.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "helpers/names.h"
#include "helpers/programs.h"
#include "storage/live_index.h"

namespace minke::helpers {

std::vector<CountedTier> count_tiers(const TierConfiguration& cluster, const Person& person,
                                     const std::vector<std::string>& wanted, Counting counting) {
  const std::string live = live_directory(cluster.home);
  std::vector<CountedTier> all;
  for (PersonTier& place : tiers_of(cluster.tiers, person, cluster.storage.project_groups)) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), place.tier.name) == wanted.end()) continue;
    CountedTier one{std::move(place.tier), std::move(place.path), std::move(place.group), false, {}, {}};
    const std::string followed = following(one.path);
    // Another process may keep count of it.
    if (const auto known =
            counting == Counting::kOwners ? std::nullopt : storage::live_amount(live, followed)) {
      one.there = true;
      one.usage.total = *known;
    } else if (::access(followed.c_str(), F_OK) != 0) {
      one.problem = errno == ENOENT ? "not there: minke storage init" : std::strerror(errno);
    } else if (counting == Counting::kKept) {
      one.problem = "not counted here: minke storage usage";
    } else if (auto usage = storage::scan_usage({followed}, {.snapshots = false})) {
      one.there = true;
      one.usage = std::move(*usage);
    } else {
      one.problem = std::strerror(usage.error().code);
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace minke::helpers
