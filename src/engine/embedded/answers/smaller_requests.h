// Which smaller requests a user might make do with: a shorter time limit, fewer nodes, tasks, CPUs, GPUs,
// less memory, no constraint, another partition. Of each kind the mildest change first. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/job_spec.pb.h"

namespace minke::engine {

struct SmallerRequestChoice {
  int kind = 0;            // those of one kind follow each other
  std::string options;     // "--time=3:00:00"
  std::string instead_of;  // "--time=4:00:00"
  model::JobSpec spec;
  std::vector<std::string> partitions;
  uint32_t time_limit_minutes = 0;
};

// `partitions`: where it waits; `others`: where it might as well.
std::vector<SmallerRequestChoice> smaller_requests(const model::JobSpec& spec, uint32_t time_limit_minutes,
                                                   const std::vector<std::string>& partitions,
                                                   const std::vector<std::string>& others);

}  // namespace minke::engine
