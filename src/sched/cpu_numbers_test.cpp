#include "sched/cpu_numbers.h"

#include <gtest/gtest.h>

namespace minke::sched {
namespace {

TEST(CpuNumbers, AreNobodyElsesWhileTheyAreHeld) {
  CpuNumbers numbers;
  EXPECT_EQ(numbers.choose("a", 4, 2), "0-1");
  numbers.take(1, "a", "0-1");
  EXPECT_EQ(numbers.choose("b", 4, 2), "0-1");
  EXPECT_EQ(numbers.choose("a", 4, 1), "2");
  numbers.take(2, "a", "2");
  numbers.give_back(1);
  EXPECT_EQ(numbers.choose("a", 4, 3), "0-1,3");
  numbers.give_back(1);
  EXPECT_EQ(numbers.choose("a", 4, 4), "0-3");
}

TEST(CpuNumbers, AreSharedWhereThereAreTooFew) {
  CpuNumbers numbers;
  numbers.take(1, "a", "0-2");
  EXPECT_EQ(numbers.choose("a", 4, 2), "0,3");
  EXPECT_EQ(numbers.choose("a", 4, 9), "0-3");
  numbers.take(2, "a", "junk,9-x,70000,3-1");  // a malformed record
  EXPECT_EQ(numbers.choose("a", 4, 1), "3");
}

}  // namespace
}  // namespace minke::sched
