#include "view/held_over_time.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace minke::view {
namespace {

using Steps = std::vector<HeldOverTime::Step>;

TEST(HeldOverTime, ChangesWhereJobsBeginAndEnd) {
  HeldOverTime held;
  EXPECT_EQ(held.steps(100, 200), (Steps{{100, 0, 0}, {200, 0, 0}}));
  held.add(50, 150, 4, 1);
  held.add(120, 300, 2, 0);
  held.add(130, 130, 9, 9);
  EXPECT_EQ(held.steps(100, 200), (Steps{{100, 4, 1}, {120, 6, 1}, {150, 2, 0}, {200, 2, 0}}));
  EXPECT_EQ(held.steps(0, 400),
            (Steps{{0, 0, 0}, {50, 4, 1}, {120, 6, 1}, {150, 2, 0}, {300, 0, 0}, {400, 0, 0}}));
}

TEST(HeldOverTime, IsBounded) {
  HeldOverTime held;
  for (int64_t i = 0; i < 10000; ++i) held.add(i * 10, i * 10 + 5, i == 5000 ? 9 : 1, 0);
  const Steps steps = held.steps(0, 100000, 100);
  EXPECT_LE(steps.size(), 102u);
  EXPECT_EQ(
      std::max_element(steps.begin(), steps.end(), [](auto& a, auto& b) { return a.cpus < b.cpus; })->cpus,
      9);
}

}  // namespace
}  // namespace minke::view
