// What is refused of a TOML file before the library reads it.
//
// TOML has ASCII only, outside of comments and quoted strings. toml++ 3.3 is undefined on some other
// characters there (U+FABE to U+FEFE, taken for blanks), so they must not reach it. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace minke::engine {

// The line, from 1, of the first character beyond ASCII that stands outside of comments and quoted strings,
// or where a string of several lines goes on after a backslash at a line's end. A byte order mark may open
// the file.
std::optional<size_t> line_of_stray_character(std::string_view text);

}  // namespace minke::engine
