#include "node/cpu_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace minke::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two sockets of two cores of two threads, numbered as machines do: threads of a core are far apart.
CpuPool eight() {
  std::vector<CpuPool::Cpu> cpus;
  for (uint32_t number = 0; number < 8; ++number)
    cpus.push_back({number, static_cast<int>(number % 4 / 2), static_cast<int>(number % 2)});
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

TEST(CpuPool, OneMemoryBeforeOneSocket) {
  std::vector<CpuPool::Cpu> cpus;  // two sockets of two memories of two cores
  for (int number = 0; number < 8; ++number)
    cpus.push_back({static_cast<uint32_t>(number), number / 4, number, number / 2});
  CpuPool pool(cpus);
  EXPECT_THAT(pool.take(1), ElementsAre(0));
  EXPECT_THAT(pool.take(2), ElementsAre(2, 3));
  EXPECT_THAT(pool.take(1), ElementsAre(1));
  EXPECT_THAT(pool.take(3), ElementsAre(4, 5, 6));
}

TEST(CpuPool, OfThisMachine) {
  CpuPool pool = CpuPool::of_machine();
  EXPECT_EQ(pool.take(1).size(), 1u);
}

}  // namespace
}  // namespace minke::node
