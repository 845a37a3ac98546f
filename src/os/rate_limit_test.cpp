#include "os/rate_limit.h"

#include <gtest/gtest.h>

namespace minke::os {
namespace {

using namespace std::chrono_literals;

TEST(RateLimit, SoManyAtOnceAndAsManyInEachPeriod) {
  RateLimit limit(3, 60s);
  const RateLimit::Time start{};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.ask("a", start).allowed);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(limit.ask("a", start + 1s).allowed);
  EXPECT_TRUE(limit.ask("b", start + 1s).allowed);  // other keys have their own
  const auto next = limit.ask("a", start + 21s);
  EXPECT_TRUE(next.allowed);
  EXPECT_EQ(next.refused_before, 5u);
  EXPECT_FALSE(limit.ask("a", start + 22s).allowed);
  int allowed = 0;
  for (auto now = start + 100s; now < start + 700s; now += 1s) allowed += limit.ask("a", now).allowed;
  EXPECT_GE(allowed, 30);
  EXPECT_LE(allowed, 33);
}

TEST(RateLimit, ManyKeysNeedNoMoreRoom) {
  RateLimit limit(1, 60s, 10);
  RateLimit::Time now{};
  int allowed = 0;
  for (int i = 0; i < 1000; ++i) allowed += limit.ask(std::to_string(i), now).allowed;
  EXPECT_EQ(allowed, 11);  // the ten, and the one that all others share
  now += 61s;
  EXPECT_TRUE(limit.ask("new", now).allowed);
  EXPECT_TRUE(limit.ask("0", now).allowed);
}

}  // namespace
}  // namespace minke::os
