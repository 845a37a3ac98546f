#include "text/duration.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

// Values from Slurm 22.05's own time_str2mins.
TEST(Duration, MinutesAsSlurmReadsThem) {
  const struct {
    const char* text;
    uint32_t minutes;
  } cases[] = {{"5", 5},
               {"0", 0},
               {"90:30", 91},
               {"90:00", 90},
               {"0:01", 1},
               {"1:30", 2},
               {"1:2:3", 63},
               {"01:02:03", 63},
               {"1:00:00", 60},
               {"1-2", 1560},
               {"1-2:3", 1563},
               {"1-2:3:4", 1564},
               {"1-00:00:01", 1441},
               {"1-", 1440},
               {"1:60", 2},
               {"60:99", 62},
               {"0-0", 0},
               {"365-0", 525600},
               {"1:00:61", 62},
               {"24:00:00", 1440},
               {"1-25", 2940},
               {"UNLIMITED", kUnlimited},
               {"infinite", kUnlimited},
               {"-1", kUnlimited},
               {"Infinite", kUnlimited}};
  for (const auto& c : cases) {
    auto got = parse_minutes(c.text);
    ASSERT_TRUE(got) << c.text;
    EXPECT_EQ(*got, c.minutes) << c.text;
  }
}

TEST(Duration, RefusesWhatIsNoTimeLimit) {
  for (const char* text :
       {"",    "abc", "1:", ":5",   "1:2:3:4", "1-2-3", "1 ",    " 1", "+5",  "-5",
        "1.5", "5m",  "2h", "1-2:", "1:2:",    "INFI",  "1:2-3", "-",  "--1", "99999999999999999999-x"}) {
    EXPECT_FALSE(parse_minutes(text)) << text;
  }
}

TEST(Duration, WhatIsTooLongIsNoLimit) {
  for (const char* text : {"9999999-0", "99999999999:00:00", "99999999999999999999-0", "1-99999999999"})
    EXPECT_EQ(parse_minutes(text).value_or(0), kUnlimited) << text;
  for (const char* text : {"4294967295", "99999999999"})
    EXPECT_EQ(parse_minutes(text).value_or(0), kUnlimited - 2) << text;
}

TEST(Duration, FormatsAsSecs2timeStr) {
  EXPECT_EQ(format_seconds(0), "00:00:00");
  EXPECT_EQ(format_seconds(59), "00:00:59");
  EXPECT_EQ(format_seconds(3600), "01:00:00");
  EXPECT_EQ(format_seconds(86399), "23:59:59");
  EXPECT_EQ(format_seconds(90061), "1-01:01:01");
  EXPECT_EQ(format_seconds(86400000), "1000-00:00:00");
  EXPECT_EQ(format_seconds(-1), "INVALID");
  EXPECT_EQ(format_minutes(61), "01:01:00");
  EXPECT_EQ(format_minutes(3599), "2-11:59:00");
  EXPECT_EQ(format_minutes(kUnlimited), "UNLIMITED");
}

TEST(Duration, ShortFormsOfSqueue) {
  EXPECT_EQ(format_seconds_short(0), "0:00");
  EXPECT_EQ(format_seconds_short(65), "1:05");
  EXPECT_EQ(format_seconds_short(3600), "1:00:00");
  EXPECT_EQ(format_seconds_short(86400), "1-00:00:00");
  EXPECT_EQ(format_minutes_short(30), "30:00");
  EXPECT_EQ(format_minutes_short(60), "1:00:00");
  EXPECT_EQ(format_minutes_short(kUnlimited), "UNLIMITED");
}

TEST(Duration, WhatIsWrittenIsReadBack) {
  for (uint32_t minutes : {0u, 1u, 59u, 60u, 61u, 1439u, 1440u, 1441u, 525600u, 4000000u, kUnlimited}) {
    EXPECT_EQ(parse_minutes(format_minutes(minutes)).value(), minutes);
    EXPECT_EQ(parse_minutes(format_minutes_short(minutes)).value(), minutes);
  }
}

}  // namespace
}  // namespace minke::text
