// A user's own jobs with the metrics that their training wrote: what minke jobs and the portal rank. Reads
// files with this process's rights; blocking; any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/fetch.h"
#include "view/training_metrics.h"

namespace minke::helpers {

struct TrackedJobs {
  engine::AccountingRecords records;  // `jobs` points into them
  std::vector<view::TrackedJob> jobs;
  std::vector<std::string> disputes;  // files whose job is ambiguous
};

struct Tracking {
  uid_t uid = 0;
  int64_t since = 0;           // s since the epoch; 0: all
  size_t searched = SIZE_MAX;  // for how many of the newest jobs files are looked for, if records have none
};
// The jobs that have begun. What is found of ended ones goes into their records.
Result<TrackedJobs> tracked_jobs(engine::Engine& cluster, const Tracking& tracking);

}  // namespace minke::helpers
