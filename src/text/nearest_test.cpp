#include "text/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace minke::text {
namespace {

TEST(Nearest, DistanceCountsLettersAndExchangedNeighbours) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("time", "time"), 0u);
  EXPECT_EQ(edit_distance("time", "tme"), 1u);
  EXPECT_EQ(edit_distance("time", "tiem"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Nearest, TheClosestKnownWordIsMeant) {
  constexpr std::array<std::string_view, 5> kWords = {"time", "partition", "nodes", "ntasks", "gpus"};
  EXPECT_EQ(nearest("tiem", kWords), "time");
  EXPECT_EQ(nearest("partitoin", kWords), "partition");
  EXPECT_EQ(nearest("node", kWords), "nodes");
  EXPECT_EQ(nearest("gpu", kWords), "gpus");
  EXPECT_EQ(nearest("parti", kWords), "partition");  // it begins no other
  EXPECT_EQ(nearest("colour", kWords), "");
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(nearest(std::string(1000, 'x'), kWords), "");
}

TEST(Nearest, TwoLettersAllowOneWrongOne) {
  constexpr std::array<std::string_view, 2> kWords = {"up", "cp"};
  EXPECT_EQ(nearest("uo", kWords), "up");
  EXPECT_EQ(nearest("xy", kWords), "");
}

TEST(Nearest, WhatBeginsTwoWordsMeansNeither) {
  constexpr std::array<std::string_view, 2> kWords = {"completion", "complement"};
  EXPECT_EQ(nearest("compl", kWords), "");
}

}  // namespace
}  // namespace minke::text
