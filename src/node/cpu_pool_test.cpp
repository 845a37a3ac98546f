#include "node/cpu_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace minke::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two sockets of two cores of two threads, numbered as machines do: threads of a core are far apart.
CpuPool eight() {
  std::vector<Processor> cpus;
  for (uint32_t number = 0; number < 8; ++number)
    cpus.push_back({.number = number,
                    .package = static_cast<int>(number % 4 / 2),
                    .core = static_cast<int>(number % 2)});
  return CpuPool(cpus);
}

TEST(CpuPool, ThreadsOfACoreThenCoresOfASocket) {
  CpuPool pool = eight();
  EXPECT_THAT(pool.take(2), ElementsAre(0, 4));
  EXPECT_THAT(pool.take(2), ElementsAre(1, 5));
  EXPECT_THAT(pool.take(4), ElementsAre(2, 3, 6, 7));
}

TEST(CpuPool, TheSocketWhereTheyFitMostTightly) {
  CpuPool pool = eight();
  pool.take(3);
  EXPECT_THAT(pool.take(4), ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(pool.take(1), ElementsAre(5));
}

TEST(CpuPool, AcrossSocketsWhereItMust) {
  CpuPool pool = eight();
  EXPECT_THAT(pool.take(6), ElementsAre(0, 1, 2, 4, 5, 6));
}

TEST(CpuPool, WhatIsGivenBackIsTakenAgain) {
  CpuPool pool = eight();
  const auto first = pool.take(2);
  pool.take(6);
  pool.give_back(first);
  EXPECT_EQ(pool.take(2), first);
}

TEST(CpuPool, BeyondTheMachineThoseThatTheFewestHave) {
  CpuPool pool = eight();
  const auto first = pool.take(6);
  EXPECT_THAT(pool.take(4), ElementsAre(0, 3, 4, 7));
  EXPECT_THAT(pool.take(9), IsEmpty());
  EXPECT_THAT(pool.take(0), IsEmpty());
}

// Two sockets of two memories of two cores.
CpuPool with_memories() {
  return CpuPool(processors_of_description("pack:2 numa:2 core:2 pu:1"));
}

TEST(CpuPool, OneCacheBeforeOneMemory) {
  CpuPool pool(processors_of_description("pack:1 numa:2 l3:2 core:3 pu:1"));
  EXPECT_THAT(pool.take(2), ElementsAre(0, 1));
  EXPECT_THAT(pool.take(2), ElementsAre(3, 4)) << "one is left with the first two";
  EXPECT_THAT(pool.take(1), ElementsAre(2));
  EXPECT_THAT(pool.take(4), ElementsAre(6, 7, 8, 9)) << "no cache has four";
}

TEST(CpuPool, OneMemoryBeforeOneSocket) {
  CpuPool pool = with_memories();
  EXPECT_THAT(pool.take(1), ElementsAre(0));
  EXPECT_THAT(pool.take(2), ElementsAre(2, 3));
  EXPECT_THAT(pool.take(1), ElementsAre(1));
  EXPECT_THAT(pool.take(3), ElementsAre(4, 5, 6));
}

TEST(CpuPool, NearTheGpus) {
  CpuPool pool = with_memories();
  EXPECT_THAT(pool.take(1, {6, 7}), ElementsAre(6));
  EXPECT_THAT(pool.take(2, {6, 7}), ElementsAre(4, 7)) << "not enough is left there";
}

TEST(CpuPool, NearTheGpusAcrossPlacesRatherThanFarFromThem) {
  CpuPool pool = with_memories();
  EXPECT_THAT(pool.take(2, {3, 4}), ElementsAre(2, 3));
  EXPECT_THAT(pool.take(3, {1, 4, 5, 6, 7}), ElementsAre(4, 5, 6));
}

TEST(CpuPool, FarFromTheGpusWhereNothingNearIsLeft) {
  CpuPool pool = with_memories();
  EXPECT_THAT(pool.take(2, {6, 7}), ElementsAre(6, 7));
  EXPECT_THAT(pool.take(2, {6, 7}), ElementsAre(0, 1));
}

}  // namespace
}  // namespace minke::node
