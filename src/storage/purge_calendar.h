// When scratch is purged: on the first of the month its users are told what nobody has used for long, on the
// 12th once more, and after the end of the 15th that is removed. A machine that was off in between makes up
// for it, but nothing is removed without two notices, three days before at the least. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace minke::storage {

enum class PurgeStep { kNone, kFirstNotice, kSecondNotice, kRemove };

// Where a tier's purge is. Times in s since the epoch; 0: not yet.
struct PurgeState {
  int32_t month = 0;  // 202611
  int64_t first_notice = 0, second_notice = 0;
  int64_t before = 0;  // what was last used before this time is to be removed; of the last notice
  bool removed = false;
};

std::string format_purge_state(const PurgeState& state);
std::optional<PurgeState> parse_purge_state(std::string_view text);

// What is due at `now`, by local time. A step that is due stays due until the state says that it was done.
PurgeStep purge_step(const PurgeState& state, int64_t now);
// What the state is when the step has been done.
PurgeState after_purge_step(const PurgeState& state, PurgeStep step, int64_t now, uint32_t days);
// When to look again, where nothing is due at `now`.
int64_t next_purge_step(const PurgeState& state, int64_t now);

}  // namespace minke::storage
