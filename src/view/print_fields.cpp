#include "view/print_fields.h"

#include <algorithm>
#include <cstdlib>

namespace minke::view {
namespace {

constexpr size_t kWidestColumn = 65536;
constexpr size_t kNamesPerLine = 4;

}  // namespace

void fit_print_value(std::string& out, size_t start, int width, PrintFit fit) {
  const size_t wanted = static_cast<size_t>(std::abs(width));
  const size_t length = out.size() - start;
  if (length > wanted && fit != PrintFit::kSpill) {
    out.resize(start + wanted);
    if (fit == PrintFit::kPlus && wanted > 0) out.back() = '+';
  } else if (length < wanted && width < 0) {
    out.append(wanted - length, ' ');
  } else if (length < wanted) {
    out.insert(start, wanted - length, ' ');
  }
}

int parse_print_width(std::string_view text) {
  const bool left = text.starts_with('-');
  if (left) text.remove_prefix(1);
  size_t length = 0;
  while (length < text.size() && text::is_digit(text[length])) ++length;
  const auto number = text::parse_unsigned(text.substr(0, length), kWidestColumn).value_or(0);
  return static_cast<int>(number) * (left ? -1 : 1);
}

std::string_view before_empty_field(std::string_view format) {
  for (size_t start = 0; start < format.size();) {
    const size_t end = std::min(format.find(',', start), format.size());
    const std::string_view item = format.substr(start, end - start);
    if (item.find_first_not_of(" \t") == std::string_view::npos)
      return format.substr(0, start == 0 ? 0 : start - 1);
    start = end + 1;
  }
  return format;
}

std::string print_help_format(std::span<const std::string_view> names, size_t width) {
  std::string out;
  size_t column = 0;
  for (std::string_view name : names) {
    if (column != 0) out += column % kNamesPerLine == 0 ? '\n' : ' ';
    out += name;
    if (name.size() < width) out.append(width - name.size(), ' ');
    ++column;
  }
  return out + "\n";
}

}  // namespace minke::view
