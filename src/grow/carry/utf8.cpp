#include "grow/carry/utf8.h"

namespace minke::grow {
namespace {

// The bytes of one character of UTF-8 at the beginning; 0: there is none.
size_t character_size(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    if (first == 0xe0 && byte(1) < 0xa0) return 0;
    if (first == 0xed && byte(1) >= 0xa0) return 0;
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first < 0xf5) {
    if (first == 0xf0 && byte(1) < 0x90) return 0;
    if (first == 0xf4 && byte(1) >= 0x90) return 0;
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = character_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  std::string sound;
  while (!text.empty()) {
    const size_t size = character_size(text);
    sound += size == 0 ? std::string_view("?") : text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return sound;
}

}  // namespace minke::grow
