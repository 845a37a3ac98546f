#include "text/chain_comment.h"

#include <algorithm>

namespace minke::text {

namespace {

// Takes a number of one to ten digits off the text's beginning.
bool take_number(std::string_view& text) {
  constexpr size_t kMostDigits = 10;
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  if (digits == 0 || digits > kMostDigits) return false;
  text.remove_prefix(digits);
  return true;
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

constexpr std::string_view kBetween = "; ";

}  // namespace

uint32_t chain_parts(int64_t left, int64_t each, int64_t warn) {
  constexpr int64_t kMost = 1 << 20;
  if (each <= 0) return 1;
  const int64_t seconds = std::max<int64_t>(1, left - warn);
  return static_cast<uint32_t>(std::min(kMost, (seconds + each - 1) / each));
}

std::string_view chain_part_in(std::string_view comment) {
  std::string_view rest = comment;
  const bool is_part =
      take_word(rest, "part ") && take_number(rest) && take_word(rest, " of ") && take_number(rest);
  // On a real Slurm a blank and the submission's mark may follow.
  if (!is_part || !(rest.empty() || rest.starts_with(kBetween) || rest.starts_with(' '))) return "";
  return comment.substr(0, comment.size() - rest.size());
}

std::string with_chain_part(std::string_view comment, uint32_t part, uint32_t parts) {
  std::string out = "part " + std::to_string(part) + " of " + std::to_string(parts);
  if (const std::string_view before = chain_part_in(comment); !before.empty()) {
    comment.remove_prefix(before.size());
    return out.append(comment);
  }
  if (!comment.empty()) out.append(kBetween).append(comment);
  return out;
}

}  // namespace minke::text
