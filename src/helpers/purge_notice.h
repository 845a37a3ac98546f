// What is to be purged of a directory of scratch, as its owner was told: the list beside it, and the date.
// Blocking; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "helpers/my_tiers.h"
#include "storage/tiers.h"

namespace minke::helpers {

struct PurgeNotice {
  std::string list;                 // the file's path
  int64_t noticed = 0;              // s since the epoch
  int64_t before = 0, removal = 0;  // what was last used before it goes then, at the earliest
  uint64_t files = 0, bytes = 0;
};

struct PurgedFile {
  int64_t last_use = 0;  // s since the epoch
  uint64_t bytes = 0;
  std::string path;  // below the directory
};

// Nothing if no list was made. `take` gets each file; it may be empty.
std::optional<PurgeNotice> purge_notice_of(const TierConfiguration& cluster, const storage::Tier& tier,
                                           const std::string& path,
                                           const std::function<void(PurgedFile)>& take = {});

}  // namespace minke::helpers
