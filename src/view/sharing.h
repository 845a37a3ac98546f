// OverSubscribe of a job, as in squeue and scontrol.
#pragma once

#include <string_view>

#include "base/version.h"

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::view {

// "NODE", "USER", "MCS", "TOPO" or "NO": what keeps other jobs from its nodes, since 25.11 a field of its
// own.
inline std::string_view exclusive_text(const model::JobSpec& spec) {
  if (spec.oversubscribe()) return "NO";
  if (spec.exclusive_mode() == "user") return "USER";
  if (spec.exclusive_mode() == "mcs") return "MCS";
  if (spec.exclusive_mode() == "topo") return "TOPO";
  return spec.exclusive() ? "NODE" : "NO";
}

// "YES", "USER", "MCS", "NO" (whole nodes, or so it was updated) or "OK": as in the partition. Since 25.11
// "YES" or "NO".
inline std::string_view sharing_text(const model::JobSpec& spec, int release) {
  if (release >= kSlurm26) return spec.oversubscribe() ? "YES" : "NO";
  if (spec.oversubscribe()) return "YES";
  if (spec.exclusive_mode() == "user") return "USER";
  if (spec.exclusive_mode() == "mcs") return "MCS";
  return spec.exclusive() || spec.has_oversubscribe() ? "NO" : "OK";
}

}  // namespace minke::view
