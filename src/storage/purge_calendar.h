// The dates of a purge of scratch: on the first of the month its users are told what nobody has used for
// long, on the 12th once more, and after the end of the 15th it is removed. A machine that was off in between
// catches up, but nothing is removed without two notices, at least three days before. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace minke::storage {

enum class PurgeStep { kNone, kFirstNotice, kSecondNotice, kRemove };

// The state of a tier's purge. Times in s since the epoch; 0: not yet.
struct PurgeState {
  int32_t month = 0;  // 202611
  int64_t first_notice = 0, second_notice = 0;
  int64_t before = 0;  // of the last notice: files last used before it are to be removed
  bool removed = false;
};

std::string format_purge_state(const PurgeState& state);
std::optional<PurgeState> parse_purge_state(std::string_view text);

// Returns the step due at `now`, by local time. A step stays due until the state says that it was done.
PurgeStep purge_step(const PurgeState& state, int64_t now);
// Returns the state after the step.
PurgeState after_purge_step(const PurgeState& state, PurgeStep step, int64_t now, uint32_t days);
// When to look again, if nothing is due at `now`.
int64_t next_purge_step(const PurgeState& state, int64_t now);
// When files are removed at the earliest, after the first notice of a month was given.
int64_t expected_removal(const PurgeState& state);
// The state as it may be where only the time of the last notice is known.
PurgeState state_of_notice(int64_t noticed, uint32_t days);

}  // namespace minke::storage
