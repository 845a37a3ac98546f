// Small parts of SVG pictures. Pure; any thread.
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

namespace minke::text {

// A coordinate, to a tenth.
inline std::string svg_number(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

// A text between tags or in an attribute, without control characters.
inline std::string svg_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      result.push_back(c);
  }
  return result;
}

// `anchor` is start, middle or end.
inline std::string svg_text(double x, double y, const char* anchor, std::string_view text) {
  return "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" text-anchor=\"" + anchor + "\">" +
         svg_escaped(text) + "</text>\n";
}

}  // namespace minke::text
