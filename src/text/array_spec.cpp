#include "text/array_spec.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "model/job_terms.pb.h"
#include "text/number.h"

namespace minke::text {
namespace {

struct Range {
  uint32_t first, last, step;
};

// Text of more parts than this, or overlaps that fall into more, are refused: no real array has them.
constexpr size_t kMaxRanges = 100000;

uint64_t count(const Range& range) {
  return (range.last - range.first) / range.step + 1;
}

std::optional<Range> parse_range(std::string_view text) {
  size_t colon = text.find(':');
  std::string_view bounds = text.substr(0, colon);
  size_t dash = bounds.find('-');
  const auto number = [](std::string_view digits) {
    return parse_unsigned(skip_blanks_and_plus(digits), kMaxArrayIndex);
  };
  auto first = number(bounds.substr(0, dash));
  auto last = dash == std::string_view::npos ? first : number(bounds.substr(dash + 1));
  if (dash != std::string_view::npos && dash + 1 == bounds.size()) last = 0;  // "0-", as in Slurm
  std::optional<uint64_t> step = 1;
  if (colon != std::string_view::npos) {
    if (dash == std::string_view::npos) return std::nullopt;
    step = number(text.substr(colon + 1));
  }
  if (!first || !last || !step || *step == 0 || *last < *first) return std::nullopt;
  Range range{static_cast<uint32_t>(*first), static_cast<uint32_t>(*last), static_cast<uint32_t>(*step)};
  range.last = range.first + (range.last - range.first) / range.step * range.step;
  if (range.first == range.last) range.step = 1;
  return range;
}

// Makes the ranges ascending and disjoint. Ranges of step 1 merge; a stepped one that overlaps another falls
// into single indices, which kMaxRanges bounds. Returns false for too many parts.
bool normalize(std::vector<Range>& ranges) {
  auto by_first = [](const Range& a, const Range& b) { return a.first < b.first; };
  std::sort(ranges.begin(), ranges.end(), by_first);
  std::vector<bool> overlaps(ranges.size());
  size_t widest = 0;  // the range that reaches furthest so far
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first <= ranges[widest].last) overlaps[i] = overlaps[widest] = true;
    if (ranges[i].last > ranges[widest].last) widest = i;
  }
  std::vector<Range> parts;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!overlaps[i] || ranges[i].step == 1) {
      parts.push_back(ranges[i]);
      continue;
    }
    if (parts.size() + count(ranges[i]) > kMaxRanges) return false;
    for (uint32_t index = ranges[i].first; index <= ranges[i].last; index += ranges[i].step) {
      parts.push_back({index, index, 1});
    }
  }
  std::sort(parts.begin(), parts.end(), by_first);
  ranges.clear();
  for (const Range& part : parts) {
    // Overlapping parts have step 1 by now. Neighbours join: "1,2,3" is "1-3", as Slurm shows it.
    if (!ranges.empty() && ranges.back().step == 1 && part.step == 1 &&
        part.first <= ranges.back().last + 1) {
      ranges.back().last = std::max(ranges.back().last, part.last);
    } else {
      ranges.push_back(part);
    }
  }
  return true;
}

tl::unexpected<Error> invalid() {
  return failure("Invalid job array specification");
}

}  // namespace

Result<model::ArraySpec> parse_index_list(std::string_view text) {
  std::vector<Range> ranges;
  for (std::string_view part : split(text, ',')) {
    if (part.empty()) continue;  // "1-4,"
    auto range = parse_range(part);
    if (!range || ranges.size() >= kMaxRanges) return invalid();
    ranges.push_back(*range);
  }
  if (ranges.empty() || !normalize(ranges)) return invalid();
  model::ArraySpec array;
  for (const Range& range : ranges) {
    model::IndexRange* out = array.add_ranges();
    out->set_first(range.first);
    out->set_last(range.last);
    out->set_step(range.step);
  }
  return array;
}

namespace {

// What follows the first '%' of a list: digits, as strtol reads them. Nothing, or a negative number, is no
// throttle: "1-9%$LIMIT" in a script where LIMIT is empty.
uint32_t parse_throttle(std::string_view text) {
  text = skip_blanks_and_plus(text);
  size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  if (digits == 0) return 0;
  return static_cast<uint32_t>(
      parse_unsigned(text.substr(0, digits), kMaxArrayIndex).value_or(kMaxArrayIndex));
}

}  // namespace

// Each part of the list may have brackets and a throttle, of which the first counts: "1-3%2,5", "[1-3],5",
// "%2" for "0%2".
Result<model::ArraySpec> parse_array_spec(std::string_view text) {
  std::string plain;
  for (char c : text) {
    if (c != ' ') plain += c;
  }
  std::string list;
  std::optional<uint32_t> max_running;
  for (std::string_view part : split(plain, ',')) {
    if (part.empty()) continue;
    if (part.starts_with('[')) part.remove_prefix(1);
    const size_t end = std::min(part.find_first_of("%]"), part.size());
    list.append(list.empty() ? "" : ",").append(end == 0 ? "0" : part.substr(0, end));
    std::string_view rest = part.substr(end);
    if (rest.starts_with(']')) rest.remove_prefix(1);
    if (!rest.empty() && rest[0] != '%') return invalid();
    if (rest.empty() || max_running) continue;
    max_running = parse_throttle(rest.substr(1));
  }
  auto array = parse_index_list(list);
  if (array) array->set_max_running(max_running.value_or(0));
  return array;
}

namespace {

constexpr std::string_view kDots = "...";
// Slurm writes a whole set as one stepped range if it has at least so many indices, so far apart.
constexpr uint64_t kManyIndices = 6;
constexpr uint32_t kWideSpan = 10;

void append_range(std::string& out, const model::IndexRange& range) {
  if (!out.empty()) out += ',';
  out += std::to_string(range.first());
  if (range.last() != range.first()) out.append(1, '-').append(std::to_string(range.last()));
  if (range.step() > 1) out.append(1, ':').append(std::to_string(range.step()));
}

void append_throttle(std::string& out, const model::ArraySpec& array) {
  if (array.max_running() != 0) out.append(1, '%').append(std::to_string(array.max_running()));
}

}  // namespace

std::string format_array_spec(const model::ArraySpec& array) {
  std::string out;
  for (const model::IndexRange& range : array.ranges()) append_range(out, range);
  append_throttle(out, array);
  return out;
}

namespace {

// Returns the whole set as one range of a step over 1, however it was written.
std::optional<model::IndexRange> as_one_step(const model::ArraySpec& array) {
  if (array.ranges().empty()) return std::nullopt;
  const uint32_t first = lowest_index(array), last = highest_index(array);
  if (count_indices(array) < kManyIndices || last - first <= kWideSpan) return std::nullopt;
  const model::IndexRange& head = array.ranges(0);
  const uint32_t step = head.last() != head.first() ? head.step() : array.ranges(1).first() - first;
  if (step == 1) return std::nullopt;
  uint32_t next = first;
  for (const model::IndexRange& range : array.ranges()) {
    if (range.first() != next || (range.last() != range.first() && range.step() != step)) return std::nullopt;
    next = range.last() + step;
  }
  model::IndexRange whole;
  whole.set_first(first);
  whole.set_last(last);
  whole.set_step(step);
  return whole;
}

}  // namespace

std::string format_array_tasks(const model::ArraySpec& array, size_t max_length) {
  std::string out;
  if (const auto whole = as_one_step(array)) {
    append_range(out, *whole);
  } else {
    out = list_array_tasks(array, max_length);
  }
  append_throttle(out, array);
  return out;
}

std::string list_array_tasks(const model::ArraySpec& array, size_t max_length) {
  std::string out;
  auto full = [&] { return max_length != 0 && out.size() >= max_length; };
  model::IndexRange run;  // of neighbours that are not written yet
  run.set_step(1);
  bool open = false;
  const auto add = [&](uint32_t first, uint32_t last) {
    if (open && first != run.last() + 1) append_range(out, run);
    if (!open || first != run.last() + 1) run.set_first(first);
    run.set_last(last);
    open = true;
  };
  for (const model::IndexRange& range : array.ranges()) {
    if (full()) break;
    if (range.step() == 1) {
      add(range.first(), range.last());
      continue;
    }
    for (uint32_t index = range.first(); index <= range.last() && !full(); index += range.step())
      add(index, index);
  }
  if (open && !full()) append_range(out, run);
  if (full()) {
    out.resize(max_length > kDots.size() ? max_length - 1 - kDots.size() : 0);
    out += kDots;
  }
  return out;
}

uint64_t count_indices(const model::ArraySpec& array) {
  uint64_t total = 0;
  for (const model::IndexRange& range : array.ranges()) {
    total += (range.last() - range.first()) / range.step() + 1;
  }
  return total;
}

bool contains_index(const model::ArraySpec& array, uint32_t index) {
  for (const model::IndexRange& range : array.ranges()) {
    if (index >= range.first() && index <= range.last() && (index - range.first()) % range.step() == 0)
      return true;
  }
  return false;
}

uint32_t highest_index(const model::ArraySpec& array) {
  return array.ranges().empty() ? 0 : array.ranges(array.ranges_size() - 1).last();
}

uint32_t lowest_index(const model::ArraySpec& array) {
  return array.ranges().empty() ? 0 : array.ranges(0).first();
}

}  // namespace minke::text
