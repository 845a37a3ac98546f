// OverSubscribe of a job, as in squeue and scontrol.
#pragma once

#include <string_view>

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::view {

// "YES", "USER", "MCS", "NO" (whole nodes) or "OK": as in the partition.
inline std::string_view sharing_text(const model::JobSpec& spec) {
  if (spec.oversubscribe()) return "YES";
  if (spec.exclusive_mode() == "user") return "USER";
  if (spec.exclusive_mode() == "mcs") return "MCS";
  return spec.exclusive() ? "NO" : "OK";
}

}  // namespace minke::view
