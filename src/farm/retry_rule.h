// Which cases run again, and where. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "farm/outcome.h"

namespace minke::farm {

struct RetryRule {
  uint32_t times = 0;       // how often a case that fails by itself runs again
  std::vector<int> codes;   // only with these exit codes; empty: with any
  bool lost = true;         // one that was lost or stopped with its job runs again
  uint32_t most_level = 0;  // after "out of memory" with twice the memory, as often as this
};
inline constexpr uint32_t kMostRunsOfLost = 10;
inline constexpr uint32_t kHighestLevel = 10;  // 1024 times the memory

struct Decision {
  bool again = false;
  uint32_t level = 0;       // of memory
  bool other_host = false;  // than the one where it was
};
// `level` is that of the worker it ended in.
Decision decide(const RetryRule& rule, const Outcome& outcome, uint32_t level);

// "1,75,130-137": exit codes.
Result<std::vector<int>> parse_exit_codes(std::string_view text);

}  // namespace minke::farm
