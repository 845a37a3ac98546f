// How many units a list of GRES has: of what is asked for or offered (Gres), and of what a job holds
// (GresAllocation). Pure; any thread.
#pragma once

#include <cstdint>

#include "model/allocation.pb.h"
#include "model/job_terms.pb.h"

namespace minke::text {

inline uint32_t units_of(const model::Gres& gres) {
  return gres.count();
}
// Devices have numbers; what is only counted has a count.
inline uint32_t units_of(const model::GresAllocation& gres) {
  return gres.count() + static_cast<uint32_t>(gres.indices_size());
}

// Whole GPUs: a request without a name is for GPUs.
template <typename OneGres>
bool is_gpu(const OneGres& gres) {
  return gres.name().empty() || gres.name() == "gpu";
}

template <typename List>
uint64_t gpus_in(const List& list) {
  uint64_t count = 0;
  for (const auto& gres : list)
    if (is_gpu(gres)) count += units_of(gres);
  return count;
}

}  // namespace minke::text
