#include "view/columns.h"

#include <algorithm>
#include <charconv>

namespace minke::view {
namespace {

constexpr size_t kDefaultLongWidth = 20;
constexpr size_t kWidestColumn = 65536;  // keeps a mistyped width from filling the memory

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes [.][digits] from the front of `text`.
void take_placement(std::string_view& text, ColumnRequest& column) {
  column.right = text.starts_with('.');
  if (column.right) text.remove_prefix(1);
  size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  size_t width = 0;
  if (std::from_chars(text.data(), text.data() + digits, width).ec == std::errc::result_out_of_range)
    width = kWidestColumn;
  column.width = std::min(width, kWidestColumn);
  text.remove_prefix(digits);
}

// A number may have blanks and a plus before it.
void take_sign(std::string_view& text) {
  const size_t at = text.find_first_not_of(' ');
  if (at == std::string_view::npos) return;
  const size_t digit = at + (text[at] == '+' ? 1 : 0);
  if (digit < text.size() && is_digit(text[digit])) text.remove_prefix(digit);
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

}  // namespace

FormatRequest parse_short_format(std::string_view format) {
  FormatRequest result;
  size_t percent = format.find('%');
  result.prefix = std::string(format.substr(0, percent));
  while (percent != std::string_view::npos) {
    size_t next = format.find('%', percent + 1);
    std::string_view token =
        format.substr(percent + 1, next == std::string_view::npos ? next : next - percent - 1);
    percent = next;
    if (token.empty()) continue;
    ColumnRequest column;
    column.token = std::string(token);
    take_placement(token, column);
    column.field = std::string(token.substr(0, 1));
    column.suffix = std::string(token.substr(std::min<size_t>(1, token.size())));
    result.columns.push_back(std::move(column));
  }
  return result;
}

FormatRequest parse_long_format(std::string_view format) {
  FormatRequest result;
  while (!format.empty()) {
    size_t comma = format.find(',');
    std::string_view token = format.substr(0, comma);
    format = comma == std::string_view::npos ? std::string_view() : format.substr(comma + 1);
    if (token.empty()) continue;
    ColumnRequest column;
    column.token = std::string(token);
    size_t colon = token.find(':');
    column.field = lower_case(token.substr(0, colon));
    if (colon == std::string_view::npos) {
      column.width = kDefaultLongWidth;
    } else {
      token.remove_prefix(colon + 1);
      // "-30", which people write for "to the left", is neither a width nor the text behind the column.
      if (token.size() > 1 && token[0] == '-' && is_digit(token[1])) {
        token.remove_prefix(std::min(token.find_first_not_of("0123456789", 1), token.size()));
        column.suffix = " ";
      } else {
        take_sign(token);
        take_placement(token, column);
      }
      column.suffix += token;
    }
    result.columns.push_back(std::move(column));
  }
  return result;
}

void fit_column(std::string& out, size_t start, const ColumnRequest& column, Overflow overflow) {
  // printf cuts no text that is not there: it prints nothing where "(null)" does not fit.
  constexpr std::string_view kNoText = "(null)";
  if (!column.right && column.width < kNoText.size() && column.width != 0 &&
      std::string_view(out).substr(start) == kNoText)
    out.resize(start);
  size_t length = out.size() - start;
  if (column.width != 0) {
    if (length > column.width) {
      const bool star = overflow == Overflow::kCutBeforeStar && out.back() == '*';
      const bool spills =
          overflow == Overflow::kSpill || (overflow == Overflow::kCutReason && out[start] != '(');
      if (!column.right || !spills) out.resize(start + column.width);
      if (star) out.back() = '*';
    } else if (length < column.width) {
      if (column.right) {
        out.insert(start, column.width - length, ' ');
      } else {
        out.append(column.width - length, ' ');
      }
    }
  }
  out += column.suffix;
}

}  // namespace minke::view
