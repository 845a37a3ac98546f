// Versions of software as people write them, "3.11.2", "2023b", and which of those at hand is nearest to one
// that is not. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minke::software {

// Numbers compare as numbers: 3.9 < 3.11, 12.2 < 12.2.1, 2023a < 2023b. Negative, 0, positive.
int compare_versions(std::string_view a, std::string_view b);

// Whether `wanted` names `version`, or the beginning of it up to a dot: "3.11" names 3.11.2.
bool names_version(std::string_view wanted, std::string_view version);

// The one to take instead of `wanted`. Of those that agree with it in the most leading numbers, the lowest
// that is higher, or else the highest. With `same_major` the first number must agree. Nothing: none will do.
std::optional<std::string> nearest_version(std::string_view wanted, const std::vector<std::string>& versions,
                                           bool same_major);

}  // namespace minke::software
