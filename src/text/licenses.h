// --licenses and Licenses=: "matlab", "matlab:2", "matlab@server:2,ansys".
//
// Pure; may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace minke::text {

// Returns names and counts (1 if not given), in the order given; "" and "(null)" mean none. Fails with
// Slurm's "Invalid license specification".
Result<std::vector<std::pair<std::string, uint32_t>>> parse_licenses(std::string_view text);

}  // namespace minke::text
