#include "farm/entry.h"

#include <array>
#include <cstdio>

#include "farm/check_sum.h"
#include "text/number.h"

namespace minke::farm {
namespace {

constexpr std::array<std::string_view, 13> kNames = {"cases",  "worker", "take", "return", "lost",
                                                     "retry",  "gone",   "stop", "go-on",  "cut-off",
                                                     "submit", "job",    "shun"};
constexpr size_t kNumbers = 6;

std::optional<EntryKind> kind_of(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<EntryKind>(i);
  return std::nullopt;
}

// The word in front of the next blank; `rest` is what follows it.
std::string_view next_word(std::string_view& rest) {
  const size_t end = rest.find(' ');
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return word;
}

}  // namespace

std::string format_entry(const Entry& entry) {
  std::string line(kNames[static_cast<size_t>(entry.kind)]);
  for (const uint64_t number : {uint64_t{entry.worker}, entry.first, entry.count, uint64_t{entry.attempt},
                                uint64_t{entry.level}, static_cast<uint64_t>(entry.time)})
    line.append(" ").append(std::to_string(number));
  line.append(" ").append(entry.text);
  char sum[16];
  std::snprintf(sum, sizeof sum, " %08x\n", check_sum(line));
  return line + sum;
}

std::optional<Entry> parse_entry(std::string_view line) {
  if (line.size() < 10 || line[line.size() - 9] != ' ') return std::nullopt;
  const std::string_view content = line.substr(0, line.size() - 9);
  char sum[16];
  std::snprintf(sum, sizeof sum, "%08x", check_sum(content));
  if (line.substr(line.size() - 8) != sum) return std::nullopt;
  std::string_view rest = content;
  const auto kind = kind_of(next_word(rest));
  if (!kind) return std::nullopt;
  std::array<uint64_t, kNumbers> numbers{};
  for (uint64_t& number : numbers) {
    const auto read = text::parse_unsigned(next_word(rest));
    if (!read) return std::nullopt;
    number = *read;
  }
  return Entry{*kind,
               static_cast<uint32_t>(numbers[0]),
               numbers[1],
               numbers[2],
               static_cast<uint32_t>(numbers[3]),
               static_cast<uint32_t>(numbers[4]),
               static_cast<int64_t>(numbers[5]),
               std::string(rest)};
}

}  // namespace minke::farm
