// The jobs of one user that are of interest now: all of the queue, and of the record those that ended lately.
// Blocking; one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/fetch.h"

namespace minke::engine {

struct UserJobs {
  JobRecords queue;
  AccountingRecords record;
  std::vector<const model::JobRecord*> queued;  // running ones first, then by number
  std::vector<const model::JobRecord*> ended;   // the newest first
  int64_t now = 0;                              // s since the epoch
};

// Of the ended ones, those of the last `seconds`, at most `most`. Pointers point into the value's own
// records.
Result<UserJobs> fetch_user_jobs(Engine& cluster, uid_t uid, int64_t seconds, uint32_t most);

}  // namespace minke::engine
