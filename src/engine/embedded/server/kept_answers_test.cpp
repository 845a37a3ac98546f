#include "engine/embedded/server/kept_answers.h"

#include <gtest/gtest.h>

namespace minke::engine {
namespace {

using Kept = KeptAnswers<uint32_t, int>;

TEST(KeptAnswers, AreAskedForOnceInTheirTime) {
  Kept kept(10);
  int asked = 0;
  const auto ask = [&] { return Kept::Answer{++asked, 300}; };
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(kept.get(7, 1000 + i % 300, ask), 1);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(kept.get(7, 1300, ask), 2);
}

TEST(KeptAnswers, EachHasItsOwnTime) {
  Kept kept(10);
  int asked = 0;
  const auto ask = [&] { return Kept::Answer{++asked, asked == 1 ? 5 : 300}; };
  EXPECT_EQ(kept.get(1, 0, ask), 1);
  EXPECT_EQ(kept.get(2, 0, ask), 2);
  EXPECT_EQ(kept.get(2, 10, ask), 2);
  EXPECT_EQ(kept.get(1, 10, ask), 3);
}

TEST(KeptAnswers, AreBounded) {
  Kept kept(3);
  int asked = 0;
  const auto ask = [&] { return Kept::Answer{++asked, 300}; };
  for (uint32_t key = 0; key < 4; ++key) kept.get(key, 0, ask);  // the fourth has them forgotten
  kept.get(3, 0, ask);
  EXPECT_EQ(asked, 4);
  kept.get(0, 0, ask);
  EXPECT_EQ(asked, 5);
}

}  // namespace
}  // namespace minke::engine
