#include "portal/remembered.h"

#include <gtest/gtest.h>

#include <thread>

namespace minke::portal {
namespace {

TEST(Remembered, IsMadeOnceForAllWhoAsk) {
  Remembered remembered;
  int made = 0;
  const auto slow = [&]() -> Result<Reply> {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return Reply{.body = std::to_string(++made)};
  };
  EXPECT_EQ(remembered.get("a", slow)->body, "1");
  EXPECT_EQ(remembered.get("a", slow)->body, "1");
  EXPECT_EQ(remembered.get("b", slow)->body, "2");
}

TEST(Remembered, HasNoFailuresAndABound) {
  Remembered remembered;
  int asked = 0;
  const auto fails = [&]() -> Result<Reply> {
    ++asked;
    return failure("not now");
  };
  EXPECT_FALSE(remembered.get("a", fails));
  EXPECT_FALSE(remembered.get("a", fails));
  EXPECT_EQ(asked, 2);
  for (int i = 0; i < 1000; ++i)
    EXPECT_TRUE(remembered.get(std::to_string(i), [] { return Result<Reply>(Reply{.body = "x"}); }));
}

}  // namespace
}  // namespace minke::portal
