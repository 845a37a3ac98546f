// Lists with commas, as options take them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minke::text {

// Splits at commas; empty parts are left out.
std::vector<std::string> split_list(std::string_view text);

}  // namespace minke::text
