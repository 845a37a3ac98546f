#include "storage/purge_calendar.h"

#include <gtest/gtest.h>

#include <ctime>

namespace minke::storage {
namespace {

int64_t at(int month, int day, int hour = 12) {
  std::tm parts{};
  parts.tm_year = 2026 - 1900;
  parts.tm_mon = month - 1;
  parts.tm_mday = day;
  parts.tm_hour = hour;
  parts.tm_isdst = -1;
  return std::mktime(&parts);
}

TEST(PurgeCalendar, two_notices_and_then_the_removal) {
  PurgeState state;
  EXPECT_EQ(purge_step(state, at(11, 1, 0)), PurgeStep::kFirstNotice);
  state = after_purge_step(state, PurgeStep::kFirstNotice, at(11, 1, 0), 60);
  EXPECT_EQ(state.before, at(11, 1, 0) - 60 * 86400);
  EXPECT_EQ(purge_step(state, at(11, 11, 23)), PurgeStep::kNone);
  EXPECT_EQ(next_purge_step(state, at(11, 2)), at(11, 12, 0));
  EXPECT_EQ(purge_step(state, at(11, 12, 0)), PurgeStep::kSecondNotice);
  state = after_purge_step(state, PurgeStep::kSecondNotice, at(11, 12, 0), 60);
  EXPECT_EQ(purge_step(state, at(11, 15, 23)), PurgeStep::kNone);
  EXPECT_EQ(next_purge_step(state, at(11, 13)), at(11, 16, 0));
  EXPECT_EQ(purge_step(state, at(11, 16, 0)), PurgeStep::kRemove);
  EXPECT_EQ(purge_step(state, at(11, 20)), PurgeStep::kRemove);  // due until it is done
  state = after_purge_step(state, PurgeStep::kRemove, at(11, 20), 60);
  EXPECT_EQ(purge_step(state, at(11, 30)), PurgeStep::kNone);
  EXPECT_EQ(next_purge_step(state, at(11, 30)), at(12, 1, 0));
  EXPECT_EQ(purge_step(state, at(12, 1, 0)), PurgeStep::kFirstNotice);
}

TEST(PurgeCalendar, a_machine_that_was_off_removes_nothing_without_notices) {
  PurgeState state;
  EXPECT_EQ(purge_step(state, at(11, 20)), PurgeStep::kFirstNotice);
  state = after_purge_step(state, PurgeStep::kFirstNotice, at(11, 20), 60);
  EXPECT_EQ(purge_step(state, at(11, 22)), PurgeStep::kNone);
  EXPECT_EQ(purge_step(state, at(11, 23)), PurgeStep::kSecondNotice);
  state = after_purge_step(state, PurgeStep::kSecondNotice, at(11, 29), 60);
  EXPECT_EQ(purge_step(state, at(11, 30)), PurgeStep::kNone);
  EXPECT_EQ(next_purge_step(state, at(11, 30)), at(12, 1, 0));
  // But not in the next month: it begins anew.
  EXPECT_EQ(purge_step(state, at(12, 5)), PurgeStep::kFirstNotice);
}

TEST(PurgeCalendar, removals_are_expected_after_both_notices) {
  PurgeState state = after_purge_step({}, PurgeStep::kFirstNotice, at(11, 1), 60);
  EXPECT_EQ(expected_removal(state), at(11, 16, 0));
  state = after_purge_step({}, PurgeStep::kFirstNotice, at(11, 20), 60);
  EXPECT_EQ(expected_removal(state), at(11, 26));
  state.second_notice = at(11, 24);
  EXPECT_EQ(expected_removal(state), at(11, 27));
  // Where only the list's own time is known.
  EXPECT_EQ(expected_removal(state_of_notice(at(11, 1), 60)), at(11, 16, 0));
  EXPECT_EQ(expected_removal(state_of_notice(at(11, 12), 60)), at(11, 16, 0));
}

TEST(PurgeCalendar, states_are_read_as_they_are_written) {
  const PurgeState state{
      .month = 202611, .first_notice = 5, .second_notice = 7, .before = 3, .removed = true};
  const auto read = parse_purge_state(format_purge_state(state));
  ASSERT_TRUE(read);
  EXPECT_EQ(format_purge_state(*read), format_purge_state(state));
  EXPECT_FALSE(parse_purge_state("202611 5"));
  EXPECT_FALSE(parse_purge_state(""));
}

}  // namespace
}  // namespace minke::storage
