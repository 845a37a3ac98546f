// Texts that are UTF-8, and those that are not: neither JSON nor slurmdbd's data base takes the latter. Pure.
#pragma once

#include <string>
#include <string_view>

namespace minke::grow {

bool is_utf8(std::string_view text);
// With '?' for each byte that is none.
std::string as_utf8(std::string_view text);

}  // namespace minke::grow
