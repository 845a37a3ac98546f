#include "node/processors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace minke::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Processors, OfADescription) {
  const auto all = processors_of_description("pack:2 numa:2 l3:2 core:2 pu:2");
  ASSERT_EQ(all.size(), 32u);
  const Processor& last = all.back();
  EXPECT_EQ(last.number, 31u);
  EXPECT_EQ(last.package, 1);
  EXPECT_EQ(last.memory, 3);
  EXPECT_EQ(last.cache, 7);
  EXPECT_EQ(last.core, 15);
  EXPECT_THAT(processors_of_description("nonsense"), IsEmpty());
}

TEST(Processors, OfThisMachine) {
  EXPECT_FALSE(processors_of_machine().empty());
}

TEST(Processors, ListsAsTheKernelWritesThem) {
  EXPECT_THAT(parse_cpus("0-2,8"), ElementsAre(0, 1, 2, 8));
  EXPECT_THAT(parse_cpus(""), IsEmpty());
  EXPECT_THAT(parse_cpus("x"), IsEmpty());
}

}  // namespace
}  // namespace minke::node
