// Suggests smaller requests: a shorter time limit, fewer nodes, tasks, CPUs or GPUs, less memory, no
// constraint, or another partition. Within each kind the mildest change comes first. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/job_spec.pb.h"

namespace minke::engine {

struct SmallerRequestChoice {
  int kind = 0;            // choices of one kind are adjacent
  std::string options;     // "--time=3:00:00"
  std::string instead_of;  // "--time=4:00:00"
  model::JobSpec spec;
  std::vector<std::string> partitions;
  uint32_t time_limit_minutes = 0;
};

// `partitions`: the job's own; `others`: partitions that it could use as well.
std::vector<SmallerRequestChoice> smaller_requests(const model::JobSpec& spec, uint32_t time_limit_minutes,
                                                   const std::vector<std::string>& partitions,
                                                   const std::vector<std::string>& others);

}  // namespace minke::engine
