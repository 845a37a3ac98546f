#include "engine/embedded/toml_text.h"

#include <algorithm>
#include <string>

namespace minke::engine {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// The end of the string that opens at `at` with `quote`: behind its closing quotes, or, where it has none, at
// its line's or the text's end. `stray` is set to where a character beyond ASCII follows a backslash at a
// line's end.
size_t end_of_string(std::string_view text, size_t at, std::string_view quote, size_t& stray) {
  const bool many_lines = quote.size() == 3;
  const bool escapes = quote.front() == '"';
  for (size_t i = at + quote.size(); i < text.size(); ++i) {
    if (text.substr(i).starts_with(quote)) return i + quote.size();
    if (text[i] == '\n' && !many_lines) return i;
    if (text[i] != '\\' || !escapes) continue;
    size_t next = i + 1;
    while (many_lines && next < text.size() && is_blank(text[next])) ++next;
    if (next > i + 1 && next < text.size() && static_cast<unsigned char>(text[next]) >= 0x80) {
      stray = next;
      return next;
    }
    i = next > i + 1 ? next - 1 : next;
  }
  return text.size();
}

}  // namespace

std::optional<size_t> line_of_stray_character(std::string_view text) {
  const size_t none = text.size();
  size_t stray = none;
  size_t i = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  while (i < text.size() && stray == none) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x80) {
      stray = i;
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"' || c == '\'') {
      const std::string three(3, c);
      i = end_of_string(text, i, text.substr(i).starts_with(three) ? three : std::string(1, c), stray);
    } else {
      ++i;
    }
  }
  if (stray == none) return std::nullopt;
  return 1 +
         static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(stray), '\n'));
}

}  // namespace minke::engine
