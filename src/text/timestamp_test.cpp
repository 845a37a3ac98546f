#include "text/timestamp.h"

#include <gtest/gtest.h>
#include <cstdlib>
#include <ctime>

namespace minke::text {
namespace {

// Expected: Slurm 22.05's own parse_time and slurm_make_time_str, at this moment in this time zone.
constexpr int64_t kNow = 1795219987;  // Friday, 2026-11-20 19:13:07

class Timestamp : public ::testing::Test {
 protected:
  Timestamp() {
    setenv("TZ", "America/Toronto", 1);
    tzset();
  }
  ~Timestamp() override {
    unsetenv("TZ");
    tzset();
  }
};

TEST_F(Timestamp, ReadsWhatSlurmReads) {
  const struct {
    const char* text;
    int64_t time;
  } cases[] = {{"now", kNow},
               {"NOW", kNow},
               {"now ", kNow},
               {"now+0", kNow},
               {"now+1hour", kNow + 3600},
               {"now+1hours", kNow + 3600},
               {"now+60", kNow + 60},
               {"now-1", kNow - 1},
               {"now-2days", kNow - 172800},
               {"now+1week", kNow + 604800},
               {"now+2weeks", kNow + 1209600},
               {"now+5minutes", kNow + 300},
               {"now + 1 hour", kNow + 3600},
               {"now+99999999999", kNow + 99999999999},
               {"today", 1795150800},
               {"tomorrow", 1795237200},
               {"midnight", 1795237200},
               {"noon", 1795280400},
               {"teatime", 1795294800},
               {"fika", 1795291200},
               {"16:00", 1795294800},
               {"01:00", 1795240800},
               {"1:30pm", 1795285800},
               {"01:30:15 PM", 1795285815},
               {"12:00am", 1795237200},
               {"0:00", 1795237200},
               {"23:59:59", 1795237199},
               {"010125", 1735707600},
               {"01/02/25", 1735794000},
               {"0102", 1798866000},
               {"01/02", 1798866000},
               {"01.02.25", 1735794000},
               {"2010-01-20", 1263963600},
               {"2010-01-20T12:34:00", 1264008840},
               {"2010-01-20T12:34", 1264008840},
               {"2010-01-20 12:34", 1264008840},
               {"2010-01-20T", 1263963600},
               {"16:00 tomorrow", 1795294800},
               {"tomorrow 16:00", 1795294800},
               {"tomorrowT16:00", 1795294800},
               {"noon tomorrow", 1795280400},
               {"today noon", 1795194000},
               {"12:00 2027-01-01", 1798822800},
               {"010127T10:00", 1798815600},
               {"2027-01-01T10:00am", 1798815600},
               {"2023-02-30", 1677733200},
               {"2026-11-01T01:30", 1793514600},  // this time occurs twice that night: the first
               {"2026-03-08T02:30", 1772955000},  // this time never occurs: an hour later
               {"uts1234567", 1234567}};
  for (const auto& c : cases) {
    auto time = parse_time(c.text, kNow);
    ASSERT_TRUE(time) << c.text;
    EXPECT_EQ(*time, c.time) << c.text;
  }
}

TEST_F(Timestamp, LooksBackWhereAsked) {
  const struct {
    const char* text;
    int64_t time;
  } cases[] = {{"midnight", 1795150800}, {"noon", 1795194000},    {"16:00", 1795208400},
               {"01:00", 1795154400},    {"0102", 1767330000},    {"23:59:59", 1795237199},
               {"now-1", kNow - 1},      {"tomorrow", 1795237200}};
  for (const auto& c : cases) {
    auto time = parse_time(c.text, kNow, true);
    ASSERT_TRUE(time) << c.text;
    EXPECT_EQ(*time, c.time) << c.text;
  }
}

TEST_F(Timestamp, ADashMayStandBeforeTheTimeOfDay) {
  EXPECT_EQ(*parse_time("2027-01-02-10:30", kNow), *parse_time("2027-01-02T10:30", kNow));
  EXPECT_EQ(*parse_time("01/02/27-10:30:05", kNow), *parse_time("2027-01-02T10:30:05", kNow));
}

TEST_F(Timestamp, ElevensesIsEleven) {
  EXPECT_EQ(*parse_time("elevenses", kNow), *parse_time("11:00", kNow));
}

TEST_F(Timestamp, RefusesWhatSlurmRefuses) {
  for (const char* text : {"2027-01-02-",
                           "2027-01-02-x",
                           "",
                           "abc",
                           "n",
                           "now+5min",
                           "1pm",
                           "12am",
                           "uts",
                           "24:00",
                           "25:00",
                           "12:60",
                           "13/01/25",
                           "now+",
                           "now+x",
                           "now+1h",
                           "now+1month",
                           "-1",
                           "12:00:30.5",
                           "2010-1-2",
                           "today+1",
                           "1",
                           "12",
                           "12345",
                           "1234567",
                           "00:00:60",
                           "2027-01-01T24:00:00",
                           "2027-13-01",
                           "2027-01-01T10:00:00Z",
                           "utsx",
                           "now now",
                           "today tomorrow",
                           "12:00 13:00",
                           "now+99999999999999999999",
                           "nowhere",
                           "13:00pm",
                           "0:30am"}) {
    EXPECT_FALSE(parse_time(text, kNow)) << text;
  }
  EXPECT_EQ(parse_time("abc", kNow).error().message, "Invalid time specification (pos=0): abc");
}

TEST_F(Timestamp, Writes) {
  EXPECT_EQ(format_time(kNow), "2026-11-20T19:13:07");
  EXPECT_EQ(format_time(kNow, "standard"), "2026-11-20T19:13:07");
  EXPECT_EQ(format_time(0), "Unknown");
  EXPECT_EQ(format_time_or(0, "N/A"), "N/A");
  EXPECT_EQ(format_time(kNow, "%a %T"), "Fri 19:13:07");
  EXPECT_EQ(format_time(kNow, "%s"), "1795219987");
  EXPECT_EQ(format_time(kNow, std::string(5000, '%')), "");
}

TEST_F(Timestamp, WritesRelativeTimes) {
  auto shown = [](int64_t seconds) { return format_time(kNow + seconds, "relative", kNow); };
  constexpr int64_t kDay = 86400;
  EXPECT_EQ(shown(60), "19:14:07");
  EXPECT_EQ(shown(18000), "Tomorr 00:13");
  EXPECT_EQ(shown(-72000), "Ystday 23:13");
  EXPECT_EQ(shown(2 * kDay), "Sun 19:13");
  EXPECT_EQ(shown(-2 * kDay), "18 Nov 19:13");
  EXPECT_EQ(shown(6 * kDay), "Thu 19:13");
  EXPECT_EQ(shown(7 * kDay), "27 Nov 19:13");
  EXPECT_EQ(shown(400 * kDay), "25 Dec 2027");
  EXPECT_EQ(shown(-400 * kDay), "16 Oct 2025");
}

TEST_F(Timestamp, WhatIsWrittenIsReadBack) {
  for (int64_t time : {int64_t{1}, int64_t{1000000000}, kNow, kNow + 12345678, int64_t{4102444800}}) {
    EXPECT_EQ(parse_time(format_time(time), kNow).value(), time);
    EXPECT_EQ(parse_time(format_time(time, "uts%s"), kNow).value(), time);
  }
}

}  // namespace
}  // namespace minke::text
