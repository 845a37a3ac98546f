// What the new Slurm's record knows of carried jobs from after the snapshot: also of those that slurmctld has
// forgotten since their end. One thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "grow/carry/commands.h"
#include "grow/carry/snapshot.h"

namespace minke::grow {

struct LaterJob {
  uint32_t number = 0;  // the array's, of an array; the first component's, of a heterogeneous job
  std::string id;       // "4711_3"
  bool begun = false;
};
Result<std::vector<LaterJob>> later_jobs(const Commands& commands, const Snapshot& snapshot,
                                         const std::set<uint32_t>& numbers);

}  // namespace minke::grow
