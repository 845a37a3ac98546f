#include "text/hostlist.h"

#include <algorithm>
#include <compare>
#include <optional>

#include "text/number.h"

namespace minke::text {
namespace {

constexpr size_t kMaxDigits = 18;  // a longer number at the end of a name does not count as one

// "n007": prefix "n", digits "007".
struct Host {
  std::string_view prefix, digits;
  uint64_t number = 0;

  explicit Host(std::string_view name) : prefix(name) {
    size_t start = name.size();
    while (start > 0 && is_digit(name[start - 1])) --start;
    size_t count = name.size() - start;
    if (count == 0 || count > kMaxDigits) return;
    prefix = name.substr(0, start);
    digits = name.substr(start);
    number = *parse_unsigned(digits);
  }
  bool padded() const { return digits.size() > 1 && digits[0] == '0'; }
};

bool comes_before(const Host& a, const Host& b) {
  if (int order = a.prefix.compare(b.prefix); order != 0) return order < 0;
  if (a.digits.size() != b.digits.size()) return a.digits.size() < b.digits.size();
  return a.number < b.number;
}

// Whether one printf width writes both numbers as they are: unpadded ones allow every width up to their own.
bool share_width(const Host& first, const Host& next) {
  if (first.digits.size() == next.digits.size()) return true;
  if (next.padded()) return false;  // numbers only grow, so a padded number later on needs an equal width
  return !first.padded() || next.digits.size() >= first.digits.size();
}

void append_padded(std::string& out, uint64_t number, size_t width) {
  std::string digits = std::to_string(number);
  if (digits.size() < width) out.append(width - digits.size(), '0');
  out += digits;
}

tl::unexpected<Error> invalid(std::string_view text) {
  return failure("Invalid hostlist: " + std::string(text));
}

// Expands the inside of one bracket: "1-3,7,010-012". Returns nothing if it is malformed, or too long.
std::optional<std::vector<std::string>> expand_ranges(std::string_view inside) {
  std::vector<std::string> out;
  for (std::string_view range : split(inside, ',')) {
    size_t dash = range.find('-');
    std::string_view low_text = range.substr(0, dash);
    std::string_view high_text = dash == std::string_view::npos ? low_text : range.substr(dash + 1);
    if (low_text.size() > kMaxDigits || high_text.size() > kMaxDigits) return std::nullopt;
    auto low = parse_unsigned(low_text), high = parse_unsigned(high_text);
    if (!low || !high || *high < *low || *high - *low >= kMaxHosts - out.size()) return std::nullopt;
    for (uint64_t number = *low; number <= *high; ++number) {
      append_padded(out.emplace_back(), number, low_text.size());
    }
  }
  return out;
}

// Expands one word: "rack[0-1]n[1-2]". Appends its hosts; returns false if it is invalid. The order is
// Slurm's: the last bracket counts fastest, then the first, the second and so on.
bool expand_word(std::string_view word, std::vector<std::string>& out) {
  std::vector<std::string> stems = {""};
  while (true) {
    size_t open = word.find('[');
    std::string_view literal = word.substr(0, open);
    if (literal.find(']') != std::string_view::npos) return false;
    for (std::string& stem : stems) stem += literal;
    if (open == std::string_view::npos) break;
    size_t close = word.find(']', open);
    if (close == std::string_view::npos) return false;
    auto numbers = expand_ranges(word.substr(open + 1, close - open - 1));
    if (!numbers || stems.size() * numbers->size() > kMaxHosts) return false;
    word.remove_prefix(close + 1);
    std::vector<std::string> longer;
    longer.reserve(stems.size() * numbers->size());
    const bool is_last = word.find('[') == std::string_view::npos;
    if (is_last) {
      for (const std::string& stem : stems) {
        for (const std::string& number : *numbers) longer.push_back(stem + number);
      }
    } else {
      for (const std::string& number : *numbers) {
        for (const std::string& stem : stems) longer.push_back(stem + number);
      }
    }
    stems = std::move(longer);
    if (word.empty()) break;
  }
  if (out.size() + stems.size() > kMaxHosts) return false;
  std::move(stems.begin(), stems.end(), std::back_inserter(out));
  return true;
}

bool share_bracket(const Host& a, const Host& b) {
  return a.prefix == b.prefix && a.digits.empty() == b.digits.empty();
}

// Returns how many hosts count upwards one by one from the first, which has a number.
size_t run_length(std::span<const std::string> hosts) {
  const Host first(hosts.front());
  size_t length = 1;
  while (length < hosts.size()) {
    const Host next(hosts[length]);
    if (!share_bracket(first, next) || next.number != first.number + length || !share_width(first, next))
      break;
    ++length;
  }
  return length;
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text) {
  std::vector<std::string> hosts;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ',';
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (depth < 0 || depth > 1) return invalid(text);
    bool separates = c == ' ' || c == '\t' || c == '\n' || (c == ',' && (depth == 0 || i == text.size()));
    if (!separates) continue;
    if (i > start && !expand_word(text.substr(start, i - start), hosts)) return invalid(text);
    start = i + 1;
  }
  return hosts;
}

std::string compress_hostlist(std::span<const std::string> hosts) {
  std::string out;
  for (size_t i = 0; i < hosts.size();) {
    const Host head(hosts[i]);
    if (!out.empty()) out += ',';
    out += head.prefix;
    if (head.digits.empty()) {
      ++i;
      continue;
    }
    // All neighbours with one prefix share one bracket; in it, runs that count upwards become ranges.
    const size_t begin = i;
    std::string ranges;
    while (i < hosts.size() && share_bracket(head, Host(hosts[i]))) {
      const Host first(hosts[i]);
      const size_t length = run_length(hosts.subspan(i));
      if (!ranges.empty()) ranges += ',';
      ranges += first.digits;
      if (length > 1) {
        ranges += '-';
        append_padded(ranges, first.number + length - 1, first.digits.size());
      }
      i += length;
    }
    out += i - begin > 1 ? "[" + ranges + "]" : ranges;
  }
  return out;
}

void sort_hosts(std::vector<std::string>& hosts) {
  std::stable_sort(hosts.begin(), hosts.end(),
                   [](const std::string& a, const std::string& b) { return comes_before(Host(a), Host(b)); });
}

std::string compress_hostlist_sorted(std::vector<std::string> hosts) {
  sort_hosts(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return compress_hostlist(hosts);
}

}  // namespace minke::text
