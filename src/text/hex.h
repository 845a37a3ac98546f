// Bytes as hexadecimal digits, two of them a byte, lower case. Pure.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

namespace minke::text {

inline std::string to_hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    text.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return text;
}

// What to_hex wrote. At the first two characters that are no digits it ends.
inline std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (; digits.size() >= 2; digits.remove_prefix(2)) {
    unsigned value = 0;
    const char* end = digits.data() + 2;
    if (std::from_chars(digits.data(), end, value, 16).ptr != end) break;
    bytes.push_back(static_cast<char>(value));
  }
  return bytes;
}

}  // namespace minke::text
