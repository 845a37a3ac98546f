// Quotes one word for a POSIX shell. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace minke::text {

// Returns the word in single quotes: the shell takes every byte of it literally. It must not contain NUL.
inline std::string shell_quoted(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) c == '\'' ? quoted.append("'\\''") : quoted.append(1, c);
  return quoted.append(1, '\'');
}

}  // namespace minke::text
