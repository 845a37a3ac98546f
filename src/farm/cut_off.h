// How long a case may still take, so that a worker near its job's end starts none that the end would cut
// short: META-Farm's rule (https://docs.alliancecan.ca/wiki/META-Farm:_Advanced_features_and_troubleshooting,
// "Reducing waste"). Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace minke::farm {

inline constexpr uint64_t kFirstCutOff = 8;  // cases

// Whether it is time for a new one, `done` cases being done and the last one being from `before` (0: none):
// at 8, and whenever their number has doubled.
constexpr bool wants_cut_off(uint64_t done, uint64_t before) {
  if (before < kFirstCutOff) return done >= kFirstCutOff;
  return done >= 2 * before;
}

// The largest power of two that is not above `done`, which is at least 8: the number that a cut-off is of.
uint64_t cut_off_mark(uint64_t done);

// The run time (any unit) above which lie the longest eighth of these, which are at least one.
uint64_t longest_eighth(std::vector<uint64_t> run_times);

// Chooses how many cases a worker takes at once, so that it asks for more about once in `pace_us`: one where
// they take longer, for what it takes and does not start nobody else can. At the end of a table nobody takes
// more than its share of what is left.
struct Share {
  uint64_t mean_run_us = 0;  // of its cases so far; 0: not known
  uint32_t slots = 1;
  uint64_t workers = 1;  // that take cases, itself among them
  uint64_t left = 0;     // cases
  uint64_t pace_us = 1'000'000;
};
uint64_t cases_at_once(const Share& share);

}  // namespace minke::farm
