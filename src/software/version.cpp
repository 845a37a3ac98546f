#include "software/version.h"

#include <algorithm>

#include "text/number.h"

namespace minke::software {

namespace {

// "3.11rc1": 3, 11, rc, 1.
std::vector<std::string_view> parts_of(std::string_view version) {
  std::vector<std::string_view> parts;
  size_t at = 0;
  while (at < version.size()) {
    size_t end = at;
    const bool digit = text::is_digit(version[at]);
    const bool letter = !digit && std::isalpha(static_cast<unsigned char>(version[at])) != 0;
    while (end < version.size() && text::is_digit(version[end]) == digit &&
           (digit || (std::isalpha(static_cast<unsigned char>(version[end])) != 0) == letter))
      ++end;
    if (digit || letter) parts.push_back(version.substr(at, end - at));
    at = end;
  }
  return parts;
}

int compare_parts(std::string_view a, std::string_view b) {
  const bool digits_a = text::is_digit(a[0]), digits_b = text::is_digit(b[0]);
  if (digits_a != digits_b) return digits_a ? 1 : -1;
  if (digits_a) {
    a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
    b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
    if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  }
  return a.compare(b);
}

size_t agreeing(std::string_view a, std::string_view b) {
  const auto x = parts_of(a), y = parts_of(b);
  size_t count = 0;
  while (count < std::min(x.size(), y.size()) && compare_parts(x[count], y[count]) == 0) ++count;
  return count;
}

}  // namespace

int compare_versions(std::string_view a, std::string_view b) {
  const auto x = parts_of(a), y = parts_of(b);
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (const int order = compare_parts(x[i], y[i]); order != 0) return order;
  }
  if (x.size() == y.size()) return 0;
  // 3.11rc1 comes before 3.11, 2023b after 2023.
  const std::string_view next = x.size() < y.size() ? y[x.size()] : x[y.size()];
  const bool before = next == "rc" || next == "a" || next == "alpha" || next == "beta" || next == "dev";
  const bool followed = std::max(x.size(), y.size()) > std::min(x.size(), y.size()) + 1;
  const int longer = before && followed ? -1 : 1;
  return x.size() > y.size() ? longer : -longer;
}

bool names_version(std::string_view wanted, std::string_view version) {
  return version == wanted || (version.size() > wanted.size() && version.starts_with(wanted) &&
                               !wanted.empty() && version[wanted.size()] == '.');
}

std::optional<std::string> nearest_version(std::string_view wanted, const std::vector<std::string>& versions,
                                           bool same_major) {
  std::optional<std::string> best;
  for (const std::string& version : versions) {
    const size_t common = agreeing(wanted, version);
    if (same_major && common == 0) continue;
    if (best) {
      const size_t common_best = agreeing(wanted, *best);
      if (common < common_best) continue;
      if (common == common_best) {
        const bool higher = compare_versions(version, wanted) > 0;
        const bool best_higher = compare_versions(*best, wanted) > 0;
        const bool larger = compare_versions(version, *best) > 0;
        const bool better = higher != best_higher ? higher : higher ? !larger : larger;
        if (!better) continue;
      }
    }
    best = version;
  }
  return best;
}

}  // namespace minke::software
