// Sums over the cases that a worker has ended: what a status needs, without reading a million records. Pure;
// any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "farm/outcome.h"

namespace minke::farm {

struct Tally {
  uint64_t ended = 0;  // attempts
  uint64_t ok = 0;
  uint64_t again = 0;                          // of those that failed: run again
  std::array<uint64_t, kEndings> failed = {};  // by ending, those that run again among them
  uint64_t run_us = 0;
  uint64_t longest_us = 0;
  uint64_t max_rss_kib = 0;
  int64_t first_start_ms = 0;  // since the epoch; 0: none
  int64_t last_end_ms = 0;

  void add(const Outcome& outcome);
  void add(const Tally& other);
  uint64_t all_failed() const { return ended - ok; }
  uint64_t failed_for_good() const { return ended - ok - again; }
};

// One line with a check sum at its end.
std::string format_tally(const Tally& tally);
std::optional<Tally> parse_tally(std::string_view line);

}  // namespace minke::farm
