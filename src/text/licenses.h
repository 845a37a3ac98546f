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

// Names and counts (1 where none is given), in the order given; "" and "(null)" are none. Fails with Slurm's
// "Invalid license specification".
Result<std::vector<std::pair<std::string, uint32_t>>> parse_licenses(std::string_view text);

}  // namespace minke::text
