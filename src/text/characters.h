// Characters of UTF-8 texts, for columns of a terminal: a byte that continues a character is none. Pure; any
// thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace minke::text {

size_t characters(std::string_view text);
// The first `most` of them.
std::string first_characters(std::string_view text, size_t most);
// The text with blanks behind it, up to so many columns.
std::string padded(std::string_view text, size_t columns);

}  // namespace minke::text
