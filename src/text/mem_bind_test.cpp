#include "text/mem_bind.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

using Nodes = std::vector<std::vector<uint32_t>>;

TEST(MemBindText, IsReadAsSlurmDoes) {
  EXPECT_EQ(parse_mem_bind("")->kind, MemBind::kUnset);
  EXPECT_EQ(parse_mem_bind("none")->kind, MemBind::kNone);
  EXPECT_EQ(parse_mem_bind("v,Local")->kind, MemBind::kLocal);
  EXPECT_EQ(parse_mem_bind("local,rank")->word, "rank");  // the last one counts
  EXPECT_FALSE(parse_mem_bind("verbose,quiet,rank")->verbose);
  const auto map = parse_mem_bind("verbose,prefer,sort,map_mem:0,1*2");
  ASSERT_TRUE(map);
  EXPECT_TRUE(map->verbose && map->prefer && map->sort);
  EXPECT_EQ(map->nodes, (Nodes{{0}, {1}, {1}}));
  EXPECT_EQ(map->word + map->list, "map_mem:0,1*2");
  EXPECT_EQ(parse_mem_bind("mask_mem:0x3,4")->nodes, (Nodes{{0, 1}, {2}}));
}

TEST(MemBindText, RefusesInSlurmsWords) {
  EXPECT_EQ(parse_mem_bind("local,nosuch").error().message, "unrecognized --mem-bind argument \"nosuch\"");
  EXPECT_EQ(parse_mem_bind("mask_mem").error().message, "missing list for \"--mem-bind=mask_mem:<list>\"");
  EXPECT_EQ(parse_mem_bind("map_mem:x").error().message,
            "Failed to validate number: x, the offending character is x");
  EXPECT_EQ(parse_mem_bind("map_mem:0,q").error().message,
            "Failed to validate number: 0,q, the offending character is q");
  EXPECT_FALSE(parse_mem_bind("map_mem:9999"));
}

}  // namespace
}  // namespace minke::text
