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

// What a job asks for: all of these, or, with "|" between them, one: the first that is free.
struct LicenseRequest {
  std::vector<std::pair<std::string, uint32_t>> licenses;
  bool any = false;
};
// Fails as parse_licenses(); "," and "|" exclude each other.
Result<LicenseRequest> parse_license_request(std::string_view text);

// What a running job holds: `allocated`, or where that is empty what it requested.
std::vector<std::pair<std::string, uint32_t>> held_licenses(std::string_view requested,
                                                            std::string_view allocated);

}  // namespace minke::text
