// Quotas on a real Slurm, which knows none: waiting jobs of who has more in a tier of storage than it allows
// are held, as Minke's own cluster does it, until there is less. The agent of slurmctld's machine asks each
// minute which jobs wait, counts the tiers of their users (minke storage-count), holds (scontrol, as root)
// and releases. Why a job is held stands in its AdminComment.
//
// Only what was held here is released: which jobs that are lasts in a file, and since when a tier is over its
// soft limit. What cannot be counted holds nobody. Blocking; one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/quota_rule.h"
#include "storage/tiers.h"

namespace minke::config {
struct Configuration;
}

namespace minke::engine::slurm {

class SlurmEngine;

class QuotaHolds {
 public:
  // Both must outlive it. `directory`: root's own; made where it is not there.
  QuotaHolds(SlurmEngine& cluster, const config::Configuration& config, std::string directory);

  // Looks once at all waiting jobs. Error: the cluster does not answer, or nothing can be kept.
  Status round();
  // Round after round.
  [[noreturn]] void run();

 private:
  using Owner = std::pair<uint32_t, uint32_t>;  // user and group
  struct Waiting {
    std::string user, group;
    std::set<uint32_t> free, held;  // job ids; of arrays, theirs. Held by anybody
  };
  struct Place {
    storage::Tier tier;
    std::string path;
  };

  Result<std::map<Owner, Waiting>> waiting() const;
  std::vector<Place> places_of(const Owner& owner, const Waiting& jobs) const;
  void count(const std::vector<Place>& places);
  Status change(const std::map<Owner, Waiting>& waiting, const std::map<Owner, std::string>& problems);
  void read();
  Status keep();

  SlurmEngine& cluster_;
  const config::Configuration& config_;
  const std::string path_;
  std::map<std::string, QuotaUse> uses_;  // by path; of those that were counted in this round or are over
  std::set<uint32_t> held_;               // jobs that are held by this
  std::string kept_;                      // what the file has
};

}  // namespace minke::engine::slurm
