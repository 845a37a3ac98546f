#include "farm/tally.h"

#include <algorithm>
#include <vector>

#include "farm/check_sum.h"
#include "text/number.h"

namespace minke::farm {
namespace {

template <typename Visit>
void for_each_number(auto& tally, const Visit& visit) {
  for (auto* one :
       {&tally.ended, &tally.ok, &tally.again, &tally.run_us, &tally.longest_us, &tally.max_rss_kib})
    visit(*one);
  for (auto& one : tally.failed) visit(one);
}

}  // namespace

void Tally::add(const Outcome& outcome) {
  ++ended;
  if (outcome.ok()) {
    ++ok;
  } else {
    ++failed[static_cast<size_t>(outcome.ending)];
    if (outcome.again) ++again;
  }
  run_us += outcome.run_us;
  longest_us = std::max(longest_us, outcome.run_us);
  max_rss_kib = std::max<uint64_t>(max_rss_kib, outcome.max_rss_kib);
  if (first_start_ms == 0 || outcome.started_ms < first_start_ms) first_start_ms = outcome.started_ms;
  last_end_ms = std::max(last_end_ms, outcome.started_ms + static_cast<int64_t>(outcome.run_us / 1000));
}

void Tally::add(const Tally& other) {
  ended += other.ended;
  ok += other.ok;
  again += other.again;
  for (size_t i = 0; i < kEndings; ++i) failed[i] += other.failed[i];
  run_us += other.run_us;
  longest_us = std::max(longest_us, other.longest_us);
  max_rss_kib = std::max(max_rss_kib, other.max_rss_kib);
  if (first_start_ms == 0 || (other.first_start_ms != 0 && other.first_start_ms < first_start_ms))
    first_start_ms = other.first_start_ms;
  last_end_ms = std::max(last_end_ms, other.last_end_ms);
}

std::string format_tally(const Tally& tally) {
  std::string line;
  for_each_number(tally, [&](uint64_t number) { line.append(std::to_string(number)).append(" "); });
  line.append(std::to_string(tally.first_start_ms)).append(" ").append(std::to_string(tally.last_end_ms));
  return line + " " + std::to_string(check_sum(line)) + "\n";
}

std::optional<Tally> parse_tally(std::string_view line) {
  const size_t end = line.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  line = line.substr(0, end);
  const size_t mark = line.rfind(' ');
  if (mark == std::string_view::npos) return std::nullopt;
  if (text::parse_unsigned(line.substr(mark + 1)) != check_sum(line.substr(0, mark))) return std::nullopt;
  std::vector<uint64_t> numbers;
  for (const std::string_view word : text::split(line.substr(0, mark), ' ')) {
    const auto number = text::parse_unsigned(word);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.size() != 6 + kEndings + 2) return std::nullopt;
  Tally tally;
  size_t at = 0;
  for_each_number(tally, [&](uint64_t& number) { number = numbers[at++]; });
  tally.first_start_ms = static_cast<int64_t>(numbers[at++]);
  tally.last_end_ms = static_cast<int64_t>(numbers[at]);
  return tally;
}

}  // namespace minke::farm
