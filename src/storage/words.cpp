#include "storage/words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace minke::storage {

namespace {

// Returns the length in bytes of the UTF-8 character at the front; 0 if it is not well-formed.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : (first & 0xF0) == 0xE0        ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t at = 1; at < length; ++at)
    if ((byte(at) & 0xC0) != 0x80) return 0;
  if (length == 2 && first == 0xC2 && byte(1) < 0xA0) return 0;  // control characters of Latin-1
  return length;
}

}  // namespace

std::string bytes_text(uint64_t bytes) {
  static constexpr std::array<const char*, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  const int digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f %s", digits, value, kUnits[unit]);
  return text;
}

std::string number_text(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string shown_path(std::string_view path) {
  // Printable ASCII needs no look at each character.
  const auto odd = std::find_if(path.begin(), path.end(), [](char c) { return c < 0x20 || c == 0x7F; });
  std::string shown(path.begin(), odd);
  for (size_t at = shown.size(); at < path.size();) {
    const auto c = static_cast<unsigned char>(path[at]);
    const size_t length = utf8_length(path.substr(at));
    if (length == 0 || c < 0x20 || c == 0x7F) {
      char code[8];
      std::snprintf(code, sizeof code, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\%03o", c);
      shown += code;
      ++at;
      continue;
    }
    shown.append(path.substr(at, length));
    at += length;
  }
  return shown;
}

std::string counted(uint64_t number, std::string_view noun) {
  return number_text(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

uint64_t parse_bytes(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str() || !std::isfinite(number) || number < 0) return 0;
  std::string_view unit(end);
  double factor = 1;
  if (!unit.empty()) {
    static constexpr std::string_view kLetters = "KMGTPE";
    const char letter = static_cast<char>(unit[0] & ~0x20);
    const size_t power = kLetters.find(letter);
    if (power != std::string_view::npos) {
      factor = std::pow(1024.0, static_cast<double>(power + 1));
      unit.remove_prefix(1);
      if (!unit.empty() && unit[0] == 'i') unit.remove_prefix(1);
    }
    if (!unit.empty() && (unit[0] == 'B' || unit[0] == 'b')) unit.remove_prefix(1);
    if (!unit.empty()) return 0;
  }
  const double bytes = number * factor;
  return bytes < 1.8e19 ? static_cast<uint64_t>(bytes) : 0;
}

}  // namespace minke::storage
