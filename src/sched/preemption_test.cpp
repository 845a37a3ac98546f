#include "sched/preemption.h"

#include <gtest/gtest.h>

#include <vector>

#include "sched/test_pass_fixture.h"

namespace minke::sched {
namespace {

using testing::small_job;

// Jobs of so many CPUs on so many nodes, placed one after the other.
std::vector<std::vector<Placement>> fill(Machine& machine, const std::vector<Request>& requests) {
  std::vector<std::vector<Placement>> placed;
  for (const Request& request : requests) {
    placed.push_back({machine.place(request).value()});
    machine.allocate(placed.back().front());
  }
  return placed;
}

TEST(Preemption, TakesNobodyWhereThereIsRoom) {
  Machine machine = testing::uniform_machine(1, 4, 0);
  const auto placed = fill(machine, {small_job(2, 10)});
  const auto chosen = choose_victims(machine, small_job(2, 10), placed, 0);
  ASSERT_TRUE(chosen);
  EXPECT_TRUE(chosen->empty());
}

TEST(Preemption, TakesNobodyInVain) {
  Machine machine = testing::uniform_machine(2, 4, 0);
  const auto placed = fill(machine, {small_job(4, 10), small_job(4, 10)});
  EXPECT_FALSE(choose_victims(machine, small_job(5, 10), placed, 0));
}

TEST(Preemption, TakesTheFirstOnesAndSparesThoseThatDoNotHelp) {
  Machine machine = testing::uniform_machine(2, 4, 0);
  // n0: 0 and 1; n1: 2 and 3.
  const auto placed = fill(machine, {small_job(3, 10), small_job(1, 10), small_job(2, 10), small_job(2, 10)});
  EXPECT_EQ(choose_victims(machine, small_job(1, 10), placed, 0), (std::vector<std::size_t>{0}));
  // 0 alone frees three of n0; 1 makes it four, and nothing of n1 is needed.
  EXPECT_EQ(choose_victims(machine, small_job(4, 10), placed, 0), (std::vector<std::size_t>{0, 1}));
  // In another order the first ones of the list turn out not to help.
  const std::vector<std::vector<Placement>> other{placed[1], placed[2], placed[3], placed[0]};
  EXPECT_EQ(choose_victims(machine, small_job(4, 10), other, 0), (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(choose_victims(machine, small_job(3, 10), other, 0), (std::vector<std::size_t>{1, 2}));
}

TEST(Preemption, TakesTheComponentsOfOneTogether) {
  Machine machine = testing::uniform_machine(2, 4, 0);
  auto placed = fill(machine, {small_job(3, 10), small_job(1, 10), small_job(4, 10)});
  // The first is of two components, on both nodes.
  placed[0].push_back(placed[2].front());
  placed.pop_back();
  EXPECT_EQ(choose_victims(machine, small_job(3, 10), placed, 0), (std::vector<std::size_t>{0}));
  Request both = small_job(4, 10);
  both.companions.push_back(small_job(4, 10));
  EXPECT_EQ(choose_victims(machine, both, placed, 0), (std::vector<std::size_t>{0, 1}));
}

TEST(Preemption, WhatIsSuspendedKeepsItsDevicesFromExclusiveJobs) {
  Machine machine = testing::uniform_machine(1, 4, 0, {testing::make_gres("a100", 2)});
  Request whole = small_job(4, 10);
  whole.exclusive = true;
  Placement holds = machine.place(whole).value();
  ASSERT_EQ(holds.nodes[0].gres.size(), 1u);
  EXPECT_EQ(holds.nodes[0].gres[0].devices, 3u);
  holds.nodes[0].gres[0].devices = 1;
  holds.nodes[0].cpus = 0;
  machine.allocate(holds);
  const Placement other = machine.place(whole).value();
  ASSERT_EQ(other.nodes[0].gres.size(), 1u);
  EXPECT_EQ(other.nodes[0].gres[0].devices, 2u);
  machine.allocate(other);
}

}  // namespace
}  // namespace minke::sched
