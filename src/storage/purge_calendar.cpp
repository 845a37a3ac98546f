#include "storage/purge_calendar.h"

#include <algorithm>
#include <ctime>
#include <sstream>

namespace minke::storage {

namespace {

constexpr int kSecondDay = 12, kRemovalDay = 16;  // days of the month, from their beginning
constexpr int64_t kDay = 86400, kBetween = 3 * kDay;

std::tm local(int64_t time) {
  const auto wall = static_cast<time_t>(time);
  std::tm parts{};
  ::localtime_r(&wall, &parts);
  return parts;
}

int32_t month_of(int64_t time) {
  const std::tm parts = local(time);
  return (parts.tm_year + 1900) * 100 + parts.tm_mon + 1;
}

// Returns the beginning of that day in the month of `time`; 32 and more: of the next month.
int64_t day_of_month(int64_t time, int day) {
  std::tm parts = local(time);
  parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
  parts.tm_mday = day;
  parts.tm_isdst = -1;
  return std::mktime(&parts);
}

int64_t next_month(int64_t time) {
  std::tm parts = local(time);
  parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
  parts.tm_mday = 1;
  ++parts.tm_mon;
  parts.tm_isdst = -1;
  return std::mktime(&parts);
}

int64_t second_due(const PurgeState& state) {
  return std::max(day_of_month(state.first_notice, kSecondDay), state.first_notice + kBetween);
}

int64_t removal_due(const PurgeState& state) {
  return std::max(day_of_month(state.first_notice, kRemovalDay), state.second_notice + kBetween);
}

}  // namespace

std::string format_purge_state(const PurgeState& state) {
  std::ostringstream text;
  text << state.month << ' ' << state.first_notice << ' ' << state.second_notice << ' ' << state.before << ' '
       << state.removed << '\n';
  return text.str();
}

std::optional<PurgeState> parse_purge_state(std::string_view text) {
  std::istringstream fields{std::string(text)};
  PurgeState state;
  if (!(fields >> state.month >> state.first_notice >> state.second_notice >> state.before >> state.removed))
    return std::nullopt;
  return state;
}

PurgeStep purge_step(const PurgeState& state, int64_t now) {
  if (state.month != month_of(now)) return PurgeStep::kFirstNotice;
  if (state.removed) return PurgeStep::kNone;
  if (state.second_notice == 0) return now >= second_due(state) ? PurgeStep::kSecondNotice : PurgeStep::kNone;
  return now >= removal_due(state) ? PurgeStep::kRemove : PurgeStep::kNone;
}

PurgeState after_purge_step(const PurgeState& state, PurgeStep step, int64_t now, uint32_t days) {
  PurgeState after = state;
  switch (step) {
    case PurgeStep::kNone:
      break;
    case PurgeStep::kFirstNotice:
      after = {.month = month_of(now), .first_notice = now};
      after.before = now - int64_t{days} * kDay;
      break;
    case PurgeStep::kSecondNotice:
      after.second_notice = now;
      after.before = now - int64_t{days} * kDay;
      break;
    case PurgeStep::kRemove:
      after.removed = true;
      break;
  }
  return after;
}

int64_t next_purge_step(const PurgeState& state, int64_t now) {
  const int64_t next = next_month(now);
  if (state.month != month_of(now) || state.removed) return next;
  return std::min(next, state.second_notice == 0 ? second_due(state) : removal_due(state));
}

int64_t expected_removal(const PurgeState& state) {
  PurgeState told = state;
  if (told.second_notice == 0) told.second_notice = second_due(told);
  return removal_due(told);
}

PurgeState state_of_notice(int64_t noticed, uint32_t days) {
  PurgeState state = after_purge_step({}, PurgeStep::kFirstNotice, noticed, days);
  if (local(noticed).tm_mday >= kSecondDay) state.second_notice = noticed;
  return state;
}

}  // namespace minke::storage
