// One job as its pages need it: the accounting record, with what the queue and the measurements say beyond
// it. Blocking; a worker's thread.
#pragma once

#include <cstdint>
#include <string>

#include "api/accounting.pb.h"
#include "portal/routes.h"

namespace minke::portal {

struct FoundJob {
  api::AccountedJob accounted;
  int64_t now = 0;        // the cluster's time, s since the epoch
  std::string note = {};  // seff's warning about the figures of what has ended; with steps
};

// The one that the parameter "job" names; of an array's number the record of its waiting tasks, or its first.
Result<FoundJob> find_job(Call& call, bool with_steps);

}  // namespace minke::portal
