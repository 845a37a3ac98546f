#include "text/nearest.h"

#include <algorithm>
#include <vector>

namespace minke::text {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) rows[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr size_t kLongest = 64, kMostWrong = 2, kTellingLetters = 3;
  if (word.empty() || word.size() > kLongest) return {};
  std::string_view begun, closest;
  bool is_only = true;
  const size_t allowed = std::min(kMostWrong, (word.size() + 1) / 3);
  size_t least = allowed + 1;
  for (const std::string_view candidate : candidates) {
    if (word.size() >= kTellingLetters && candidate.starts_with(word)) {
      is_only = begun.empty();
      begun = candidate;
    }
    if (candidate.size() > kLongest) continue;
    if (const size_t distance = edit_distance(word, candidate); distance < least) {
      least = distance;
      closest = candidate;
    }
  }
  return closest.empty() && is_only ? begun : closest;
}

}  // namespace minke::text
