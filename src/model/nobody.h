// The canceller of a job that no user cancelled: its dependency could not be fulfilled any more, with
// --kill-on-invalid-dep.
#pragma once

#include <cstdint>

namespace minke::model {

inline constexpr uint32_t kNobody = 0xffffffff;  // of JobRecord.cancelled_by_uid

}  // namespace minke::model
