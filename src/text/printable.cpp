#include "text/printable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace minke::text {

namespace {

// The size of one character in bytes, and whether it may be shown.
struct Character {
  size_t bytes = 1;
  bool shown = false;
};

bool is_plain(char c) {
  return c >= 0x20 && c < 0x7f;
}

bool is_harmless(uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool line = code == 0x2028 || code == 0x2029;
  const bool direction = code == 0x061c || code == 0x200e || code == 0x200f ||
                         (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  const bool none = (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff;
  return !control && !line && !direction && !none;
}

// Returns the first character of `text`, which is not empty. A byte that is not UTF-8 stands for itself.
Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, is_harmless(lead)};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  uint32_t code = lead & (0xffU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    code = code << 6 | (next & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // by bytes; smaller is an overlong form
  if (code < kLeast[bytes]) return {};
  return {bytes, is_harmless(code)};
}

// Returns the printable form of `text`; the characters of `kept` stay as they are.
std::string cleaned(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.shown || kept.find(text[0]) != std::string_view::npos) {
      out += text.substr(0, character.bytes);
    } else {
      out += '?';
    }
    text.remove_prefix(character.bytes);
  }
  return out;
}

}  // namespace

void make_printable(std::string& text, size_t from) {
  if (std::all_of(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), is_plain)) return;
  const std::string shown = cleaned(std::string_view(text).substr(from), "");
  text.replace(from, std::string::npos, shown);
}

std::string printable(std::string_view value) {
  std::string text(value);
  make_printable(text);
  return text;
}

std::string printable_lines(std::string_view text) {
  // The separators of records and fields (FS to US) move nothing: sacct's --delimiter may be one of them,
  // like that of minke accounting export. Values have had them replaced already.
  return cleaned(text, "\n\t\x1c\x1d\x1e\x1f");
}

}  // namespace minke::text
