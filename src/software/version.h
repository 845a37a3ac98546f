// Compares versions of software as people write them, "3.11.2", "2023b", and finds the nearest available one
// to one that is missing. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minke::software {

// Compares numbers as numbers: 3.9 < 3.11, 12.2 < 12.2.1, 2023a < 2023b. Returns negative, 0, positive.
int compare_versions(std::string_view a, std::string_view b);

// Whether `wanted` names `version`, or the beginning of it up to a dot: "3.11" names 3.11.2.
bool names_version(std::string_view wanted, std::string_view version);

// Returns the version to take instead of `wanted`: of those that share the most leading numbers with it, the
// lowest higher one, else the highest. With `same_major` the first number must agree. May be nothing.
std::optional<std::string> nearest_version(std::string_view wanted, const std::vector<std::string>& versions,
                                           bool same_major);

}  // namespace minke::software
