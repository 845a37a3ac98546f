#include "text/file_pattern.h"

#include <algorithm>
#include <optional>

#include "text/number.h"

namespace minke::text {
namespace {

constexpr size_t kMaxWidth = 10;
constexpr uint32_t kNoIndex = 4294967294;

std::string padded(std::string digits, size_t width) {
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

// A percent sign, the width behind it, and the letter. `length` counts them all; `letter` is NUL at
// the end of the text.
struct Placeholder {
  char letter;
  size_t width;
  size_t length;
};
Placeholder placeholder_at(std::string_view text) {
  size_t i = 1;
  size_t width = 0;
  while (i < text.size() && is_digit(text[i])) {
    width = std::min(kMaxWidth, width * 10 + static_cast<size_t>(text[i] - '0'));
    ++i;
  }
  if (i == text.size()) return {'\0', width, i};
  return {text[i], width, i + 1};
}

std::string without_backslashes(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '\\') {
      out += pattern[i];
    } else if (i + 1 < pattern.size() && pattern[i + 1] == '\\') {
      out += pattern[i++];
    }
  }
  return out;
}

// The letters that stand for a number.
std::optional<uint64_t> number_of(char letter, const FilePatternValues& values) {
  switch (letter) {
    case 'A':
      return values.array_job_id != 0 ? values.array_job_id : values.job_id;
    case 'a':
      return values.array_task_id.value_or(kNoIndex);
    case 'b':
      return values.array_task_id.value_or(kNoIndex) % 10;
    case 'J':
    case 'j':
      return values.job_id;
    case 'n':
      return values.node_index;
    case 't':
      return values.task_rank;
    default:
      return std::nullopt;
  }
}

// Returns what replaces a placeholder, which is written as `text`.
std::string expansion(const Placeholder& found, std::string_view text, const FilePatternValues& values) {
  const bool step_is_number = parse_unsigned(values.step).has_value();
  if (const auto number = number_of(found.letter, values)) {
    std::string out = padded(std::to_string(*number), found.width);
    if (found.letter == 'J' && step_is_number) out += "." + values.step;
    return out;
  }
  const bool has_width = found.length > (found.letter == '\0' ? 1u : 2u);
  switch (found.letter) {
    case '%':
      return std::string(has_width ? text.substr(1) : "%");
    case 'N':
      return values.host_name.empty() ? "%N" : values.host_name.substr(0, values.host_name.find('.'));
    case 's':
      return step_is_number ? padded(values.step, found.width) : values.step;
    case 'u':
      return values.user_name;
    case 'x':
      return values.job_name;
    default:
      return std::string(has_width ? text.substr(1) : text);
  }
}

// The kernel's longest path. A name of 1,000 characters may stand in a pattern a thousand times.
constexpr size_t kMostPathBytes = 4096;

}  // namespace

std::string expand_file_pattern(std::string_view pattern, const FilePatternValues& values) {
  if (pattern.find('\\') != std::string_view::npos) return without_backslashes(pattern);
  std::string out;
  while (!pattern.empty() && out.size() <= kMostPathBytes) {
    if (pattern[0] != '%') {
      out += pattern[0];
      pattern.remove_prefix(1);
      continue;
    }
    const Placeholder found = placeholder_at(pattern);
    out += expansion(found, pattern.substr(0, found.length), values);
    pattern.remove_prefix(found.length);
  }
  return out;
}

bool differs_by_task(std::string_view pattern) {
  if (pattern.find('\\') != std::string_view::npos) return false;
  while (!pattern.empty()) {
    if (pattern[0] != '%') {
      pattern.remove_prefix(1);
      continue;
    }
    Placeholder found = placeholder_at(pattern);
    if (found.letter == 't' || found.letter == 'n' || found.letter == 'N') return true;
    pattern.remove_prefix(found.length);
  }
  return false;
}

}  // namespace minke::text
