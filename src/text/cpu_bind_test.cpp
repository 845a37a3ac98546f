#include "text/cpu_bind.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

using Cpus = std::vector<std::vector<uint32_t>>;

TEST(CpuBindText, IsReadAsSlurmDoes) {
  EXPECT_EQ(parse_cpu_bind("none")->kind, CpuBind::kNone);
  EXPECT_EQ(parse_cpu_bind("v,NO")->kind, CpuBind::kNone);
  EXPECT_TRUE(parse_cpu_bind("verbose")->verbose);
  EXPECT_FALSE(parse_cpu_bind("verbose,quiet,rank")->verbose);
  EXPECT_EQ(parse_cpu_bind("rank")->kind, CpuBind::kRank);
  EXPECT_EQ(parse_cpu_bind("cores")->kind, CpuBind::kTopology);
  EXPECT_EQ(parse_cpu_bind("verbose,socket")->word, "sockets");
  EXPECT_EQ(parse_cpu_bind("map_ldom:0,1")->kind, CpuBind::kTopology);
  const auto map = parse_cpu_bind("verbose,map_cpu:0,3,1*2");
  ASSERT_TRUE(map);
  EXPECT_TRUE(map->verbose);
  EXPECT_EQ(map->cpus, (Cpus{{0}, {3}, {1}, {1}}));
  EXPECT_EQ(map->list, "0,3,1*2");
  EXPECT_EQ(parse_cpu_bind("mask_cpu:0x5,f0")->cpus, (Cpus{{0, 2}, {4, 5, 6, 7}}));
  for (const char* text : {"foo", "map_cpu:", "map_cpu:x", "mask_cpu:0x", "map_cpu:5000", "map_cpu:1*0"}) {
    EXPECT_FALSE(parse_cpu_bind(text)) << text;
  }
  EXPECT_EQ(parse_cpu_bind("foo").error().message, "unrecognized --cpu-bind argument \"foo\"");
}

TEST(CpuBindText, ListsAreRefusedInSlurmsWords) {
  const auto problem = [](const char* text) { return parse_cpu_bind(text).error().message; };
  EXPECT_EQ(problem("map_cpu:0x0"), "Failed to validate number: 0x0, the offending character is x");
  EXPECT_EQ(problem("v,map_cpu:1,NaN"), "Failed to validate number: NaN, the offending character is N");
  EXPECT_EQ(problem("mask_cpu:0xg"), "Failed to validate number: g, the offending character is g");
  EXPECT_EQ(problem("map_cpu:1*x"), "Failed to validate number: *x, the offending character is x");
  EXPECT_EQ(problem("map_cpu:1*0"), "Invalid map_cpu multiplier: 0");
  EXPECT_EQ(problem("mask_cpu:"), "missing list for \"--cpu-bind=mask_cpu:<list>\"");
}

TEST(CpuBindText, TypeIsToldAsSrunDoes) {
  EXPECT_EQ(cpu_bind_type(CpuBind()), "(null type)");
  EXPECT_EQ(cpu_bind_type(*parse_cpu_bind("core")), "cores");
  EXPECT_EQ(cpu_bind_type(*parse_cpu_bind("v,map_cpu:0")), "verbose,map_cpu");
}

TEST(CpuBindText, WritesMasks) {
  EXPECT_EQ(format_cpu_mask({0, 2}), "0x5");
  EXPECT_EQ(format_cpu_mask({}), "0x0");
  EXPECT_EQ(format_cpu_mask({9, 4}), "0x210");
}

}  // namespace
}  // namespace minke::text
