#include "text/characters.h"

#include <algorithm>

namespace minke::text {
namespace {

bool begins(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}

}  // namespace

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins));
}

std::string first_characters(std::string_view text, size_t most) {
  size_t at = 0, seen = 0;
  for (; at < text.size(); ++at)
    if (begins(text[at]) && seen++ == most) break;
  return std::string(text.substr(0, at));
}

std::string padded(std::string_view text, size_t columns) {
  const size_t wide = characters(text);
  return std::string(text) + std::string(wide < columns ? columns - wide : 0, ' ');
}

}  // namespace minke::text
