#include "text/file_pattern.h"

#include <algorithm>

#include "text/number.h"

namespace minke::text {
namespace {

constexpr size_t kMaxWidth = 10;
constexpr uint32_t kNoIndex = 4294967294;

std::string padded(std::string digits, size_t width) {
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

// A percent sign, the width behind it, and the letter. `length` counts them all; `letter` is NUL at the end
// of text.
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
    auto [letter, width, length] = placeholder_at(pattern);
    auto number = [&out, width = width](uint64_t value) { out += padded(std::to_string(value), width); };
    const bool has_width = length > (letter == '\0' ? 1u : 2u);
    uint32_t index = values.array_task_id.value_or(kNoIndex);
    bool step_is_number = parse_unsigned(values.step).has_value();
    switch (letter) {
      case '%':
        out += has_width ? pattern.substr(1, length - 1) : "%";
        break;
      case 'A':
        number(values.array_job_id != 0 ? values.array_job_id : values.job_id);
        break;
      case 'a':
        number(index);
        break;
      case 'b':
        number(index % 10);
        break;
      case 'J':
        number(values.job_id);
        if (step_is_number) out += "." + values.step;
        break;
      case 'j':
        number(values.job_id);
        break;
      case 'N':
        out += values.host_name.empty() ? "%N" : values.host_name.substr(0, values.host_name.find('.'));
        break;
      case 'n':
        number(values.node_index);
        break;
      case 's':
        out += step_is_number ? padded(values.step, width) : values.step;
        break;
      case 't':
        number(values.task_rank);
        break;
      case 'u':
        out += values.user_name;
        break;
      case 'x':
        out += values.job_name;
        break;
      default:
        out += pattern.substr(has_width ? 1 : 0, has_width ? length - 1 : length);
    }
    pattern.remove_prefix(length);
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
