#include "farm/retry_rule.h"

#include <algorithm>

#include "text/number.h"

namespace minke::farm {

Decision decide(const RetryRule& rule, const Outcome& outcome, uint32_t level) {
  switch (outcome.ending) {
    case Ending::kExited:
    case Ending::kSignalled: {
      if (outcome.ok() || outcome.attempt >= rule.times) return {};
      const int code = outcome.ending == Ending::kSignalled ? 128 + outcome.code : outcome.code;
      const bool named =
          rule.codes.empty() || std::find(rule.codes.begin(), rule.codes.end(), code) != rule.codes.end();
      return {named, level, false};
    }
    case Ending::kOutOfMemory:
      return {level < std::min(rule.most_level, kHighestLevel), level + 1, false};
    case Ending::kNodeFail:
      return {rule.lost && outcome.attempt < kMostRunsOfLost, level, true};
    case Ending::kLost:
    case Ending::kStopped:
      return {rule.lost && outcome.attempt < kMostRunsOfLost, level, false};
    case Ending::kNotStarted:
      return {};
  }
  return {};
}

Result<std::vector<int>> parse_exit_codes(std::string_view text) {
  std::vector<int> codes;
  for (const std::string_view part : text::split(text, ',')) {
    const size_t dash = part.find('-');
    const auto first = text::parse_unsigned(part.substr(0, dash), 255);
    const auto last =
        dash == std::string_view::npos ? first : text::parse_unsigned(part.substr(dash + 1), 255);
    if (!first || !last || *last < *first)
      return failure("exit codes are numbers up to 255, as in 75,130-137; this is not one: " +
                     std::string(part));
    for (uint64_t code = *first; code <= *last; ++code) codes.push_back(static_cast<int>(code));
  }
  return codes;
}

}  // namespace minke::farm
