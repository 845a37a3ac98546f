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
  auto first = parse_unsigned(bounds.substr(0, dash), kMaxArrayIndex);
  auto last =
      dash == std::string_view::npos ? first : parse_unsigned(bounds.substr(dash + 1), kMaxArrayIndex);
  if (dash != std::string_view::npos && dash + 1 == bounds.size()) last = 0;  // "0-", as in Slurm
  std::optional<uint64_t> step = 1;
  if (colon != std::string_view::npos) {
    if (dash == std::string_view::npos) return std::nullopt;
    step = parse_unsigned(text.substr(colon + 1), kMaxArrayIndex);
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

Result<model::ArraySpec> parse_array_spec(std::string_view text) {
  std::string plain;
  for (char c : text) {
    if (c != ' ') plain += c;
  }
  size_t percent = plain.find('%');
  std::string_view list = std::string_view(plain).substr(0, percent);
  uint32_t max_running = 0;
  if (percent != std::string::npos) {
    std::string_view tail = std::string_view(plain).substr(percent + 1);
    if (list.starts_with('[') && tail.ends_with(']')) {  // [0-4%2]
      list.remove_prefix(1);
      tail.remove_suffix(1);
    }
    tail = tail.substr(0, tail.find('%'));  // "1-9%2%1": the first counts
    if (list.empty()) list = "0";           // "%2"
    // An empty throttle is none: "1-9%$LIMIT" in a script where LIMIT is empty.
    auto number = tail.empty() ? std::optional<uint64_t>(0) : parse_unsigned(tail, kMaxArrayIndex);
    if (!number) return invalid();
    max_running = static_cast<uint32_t>(*number);
  }
  if (list.starts_with('[') && list.ends_with(']')) list = list.substr(1, list.size() - 2);
  auto array = parse_index_list(list);
  if (array) array->set_max_running(max_running);
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
    append_throttle(out, array);
    return out;
  }
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
  append_throttle(out, array);
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
