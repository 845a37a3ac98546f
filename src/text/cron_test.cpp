#include "text/cron.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "text/timestamp.h"

namespace minke::text {
namespace {

using ::testing::HasSubstr;

class Cron : public ::testing::Test {
 protected:
  void SetUp() override { zone("UTC"); }
  void TearDown() override { zone("UTC"); }
  static void zone(const char* name) {
    ::setenv("TZ", name, 1);
    ::tzset();
  }
  static std::string listed(std::string_view text) {
    const auto line = read_cron_times(text);
    return line ? format_cron_times(line->times) : "error: " + line.error().message;
  }
  static bool refused(std::string_view text) { return !read_cron_times(text); }
  static std::string next(std::string_view text, std::string_view after) {
    const auto line = read_cron_times(text);
    if (!line) return line.error().message;
    return format_time_or(next_cron_time(line->times, *parse_time(after, 0)), "never");
  }
};

TEST_F(Cron, ListsTheValuesOfEachField) {
  EXPECT_EQ(listed("* * * * *"), "* * * * *");
  EXPECT_EQ(listed("*/5 * * * *"), "0,5,10,15,20,25,30,35,40,45,50,55 * * * *");
  EXPECT_EQ(listed("0-59/7 8-17/2 1 * wed"), "0,7,14,21,28,35,42,49,56 8,10,12,14,16 1 * 3");
  EXPECT_EQ(listed("* * 1-15,20 * MON"), "* * 1-15,20 * 1");
  EXPECT_EQ(listed("5,10,7 007 * Jan 5-7"), "5,7,10 7 * 1 0,5-6");
  EXPECT_EQ(listed("* * * * */2"), "* * * * 0-1,3,5");
  EXPECT_EQ(listed("0-20/21 1-5/2 */10 */5 *"), "0 1,3,5 1,11,21,31 1,6,11 *");
  EXPECT_EQ(listed("60 24 * 0-3 7"), "0 0 * 1-3 0");
}

TEST_F(Cron, ReadsWordsInAnyCase) {
  EXPECT_EQ(listed("@hourly"), "0 0-23 * * *");
  EXPECT_EQ(listed("@Annually"), listed("@yearly"));
  EXPECT_EQ(listed("@teatime"), "0 16 * * *");
  EXPECT_EQ(listed("@weekly"), "0 0 * * 0");
  EXPECT_THAT(listed("@reboot"), HasSubstr("none of @yearly"));
}

TEST_F(Cron, TellsWhereTheTimesEnd) {
  EXPECT_EQ(read_cron_times("*  * * *\t7   echo hi")->length, 10u);
  EXPECT_EQ(read_cron_times("@daily echo")->length, 6u);
  EXPECT_EQ(read_cron_times("  1 2 3 4 5 6")->length, 11u);
}

TEST_F(Cron, RefusesWhatNoFieldMayHave) {
  for (const char* text : {"61 * * * *",      "* 25 * * *",      "* * 32 * *",
                           "* * 0 * *",       "* * * 0 *",       "* * * 13 *",
                           "* * * * 8",       "5-3 * * * *",     "*/0 * * * *",
                           "*/61 * * * *",    "* */25 * * *",    "*,5 * * * *",
                           "5/2 * * * *",     "5- * * * *",      ", * * * *",
                           "1,,2 * * * *",    "-1 * * * *",      "* * * * fri-mon",
                           "* * * jan,mar *", "* * * january *", "* * L * *",
                           "x * * * *",       "* * *",           "",
                           "0-10/0 * * * *",  "*/ * * * *",      "99999999999999999999 * * * *"})
    EXPECT_TRUE(refused(text)) << text;
  EXPECT_TRUE(refused("* * 31 2 *"));
  EXPECT_TRUE(refused("* * 31 4 1"));
  EXPECT_THAT(listed("61 * * * *"), HasSubstr("is no minute: *, numbers from 0 to 59"));
}

TEST_F(Cron, TheNextTimeIsALaterMinute) {
  EXPECT_EQ(next("* * * * *", "2026-11-23T23:59:55"), "2026-11-24T00:00:00");
  EXPECT_EQ(next("* * * * *", "2026-11-24T00:00:00"), "2026-11-24T00:01:00");
  EXPECT_EQ(next("@hourly", "2026-11-24T00:00:00"), "2026-11-24T01:00:00");
  EXPECT_EQ(next("@hourly", "2026-11-24T23:00:01"), "2026-11-25T00:00:00");
  EXPECT_EQ(next("5 4 * * *", "2026-12-31T04:05:00"), "2027-01-01T04:05:00");
  EXPECT_EQ(next("0 0 29 feb *", "2026-11-24T00:00:00"), "2028-02-29T00:00:00");
  EXPECT_EQ(next("0 0 29 2 *", "2096-02-29T00:00:00"), "2104-02-29T00:00:00");
}

TEST_F(Cron, EitherKindOfDayFitsWhereBothAreRestricted) {
  EXPECT_EQ(next("0 0 13 * fri", "2026-11-24T00:00:00"), "2026-11-27T00:00:00");
  EXPECT_EQ(next("0 0 13 * fri", "2026-12-11T12:00:00"), "2026-12-13T00:00:00");
  EXPECT_EQ(next("0 0 * 1 sun", "2026-11-24T00:00:00"), "2027-01-03T00:00:00");
}

TEST_F(Cron, ChangesOfTheClockNeitherRepeatNorStopIt) {
  zone("Europe/Berlin");
  EXPECT_EQ(next("30 2 * * *", "2026-03-28T02:30:00"),
            "2026-03-30T02:30:00");  // there is no 02:30 on the 29th
  EXPECT_EQ(next("0 * * * *", "2026-03-29T01:00:00"), "2026-03-29T03:00:00");
  const auto times = read_cron_times("30 2 * * *")->times;
  const int64_t first =
      next_cron_time(times, *parse_time("2026-10-24T12:00:00", 0));  // 02:30 comes twice on the 25th
  EXPECT_EQ(format_time(first), "2026-10-25T02:30:00");
  EXPECT_EQ(format_time(next_cron_time(times, first)), "2026-10-26T02:30:00");
}

TEST_F(Cron, WhatIsListedIsReadAsTheSame) {
  for (const char* text : {"*/5 8-17/2 1 * wed", "@hourly", "0-59 0-23 1-31 1-12 0-6", "* * * * *"})
    EXPECT_EQ(listed(listed(text)), listed(text)) << text;
}

}  // namespace
}  // namespace minke::text
