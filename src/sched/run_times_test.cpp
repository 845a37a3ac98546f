#include "sched/run_times.h"

#include <gtest/gtest.h>

#include "sched/ids.h"
#include "sched/wait_ranges.h"

namespace minke::sched {
namespace {

TEST(RunTimes, TheLimitWhereNothingIsKnown) {
  const RunTimes times;
  EXPECT_EQ(times.expected(1, 3600, 4, 0), 3600);
  EXPECT_EQ(times.expected(1, 3600, 4, 100), 3600);
}

TEST(RunTimes, GoesByTheUsersOwnJobsScaledToTheLimit) {
  RunTimes times;
  for (int i = 0; i < 20; ++i) {
    times.ended(1, {3600, 360, 4});
    times.ended(2, {3600, 3600, 4});
  }
  EXPECT_EQ(times.expected(1, 3600, 4, 0), 360);
  EXPECT_EQ(times.expected(1, 7200, 4, 0), 720);
  EXPECT_EQ(times.expected(2, 3600, 4, 0), 3600);
  // Longer than any of the user's: what others' long jobs did.
  EXPECT_EQ(times.expected(1, 3600, 4, 360), 3600);
  EXPECT_EQ(times.expected(1, 3600, 4, 3600), 3601);  // it outran its limit: any moment now
}

// Of half an hour out of an hour does not follow half a year.
TEST(RunTimes, AJobWithoutALimitTakesAsLongAsOthersDid) {
  RunTimes times;
  for (int i = 0; i < 20; ++i) times.ended(1, {3600, 1800, 4});
  EXPECT_EQ(times.expected(1, kUnlimitedSeconds, 4, 0), 1800);
  EXPECT_EQ(times.expected(1, kUnlimitedSeconds, 4, 1800), kUnlimitedSeconds);
  RunTimes unlimited;
  for (int i = 0; i < 20; ++i) unlimited.ended(1, {kUnlimitedSeconds, 1800, 4});
  EXPECT_EQ(unlimited.expected(1, 3600, 4, 0), 1800);
  EXPECT_EQ(unlimited.expected(1, 600, 4, 0), 600);
}

TEST(RunTimes, FollowsAChange) {
  RunTimes times;
  for (int i = 0; i < 50; ++i) times.ended(1, {1000, 900, 1});
  for (int i = 0; i < 30; ++i) times.ended(1, {1000, 100, 1});
  EXPECT_EQ(times.expected(1, 1000, 1, 0), 100);
  // The same number of processors tells more.
  for (int i = 0; i < 6; ++i) times.ended(1, {1000, 500, 64});
  EXPECT_EQ(times.expected(1, 1000, 64, 0), 500);
  EXPECT_EQ(times.expected(1, 1000, 1, 0), 100);
}

TEST(WaitRanges, TenthAndNinetiethHundredth) {
  WaitRanges ranges;
  EXPECT_EQ(ranges.range(0).most, 0);
  EXPECT_EQ(ranges.range(100).least, 0);
  EXPECT_EQ(ranges.range(100).most, 400);
  for (int i = 0; i < 100; ++i) ranges.started(100, 50 + i);  // 0.50 to 1.49 times
  EXPECT_EQ(ranges.range(100).least, 60);
  EXPECT_EQ(ranges.range(100).most, 141);
  EXPECT_EQ(ranges.range(120).least, 72);  // of the same power of two
  for (int i = 0; i < 400; ++i) ranges.started(100, 100);
  EXPECT_EQ(ranges.range(100).least, 100);  // the old ones are forgotten
  EXPECT_EQ(ranges.range(100).most, 101);
}

}  // namespace
}  // namespace minke::sched
