// When what somebody has in a tier of storage is more than it allows: beyond the hard limit at once, beyond
// the soft one after a grace time. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "storage/tiers.h"

namespace minke::engine {

// With it begins what is said of a job that a quota holds.
inline constexpr char kQuotaExceeded[] = "DiskQuotaExceeded";

struct QuotaUse {
  uint64_t space = 0, files = 0;  // bytes; files, directories and the like
  // Since when it is over the soft limit, in s since the epoch; 0: it is not.
  int64_t space_over = 0, files_over = 0;
};

// What has been counted at `now`, and how it was before.
QuotaUse counted_use(const storage::Tier& tier, uint64_t space, uint64_t files, const QuotaUse& before,
                     int64_t now);

// For its owner, with a command that tells more; empty: it is within its limits. `path`: the tier's for him.
// `grace` and `now` in s.
std::string quota_problem(const storage::Tier& tier, const std::string& path, const QuotaUse& use,
                          int64_t grace, int64_t now);

}  // namespace minke::engine
