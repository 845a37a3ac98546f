// Examples of the pass. pass_property_test.cpp has what holds for all clusters and jobs.
#include "sched/pass.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "model/cluster.pb.h"
#include "model/job_state.pb.h"
#include "sched/test_pass_fixture.h"
#include "sched/wait_reason.h"

namespace minke::sched {
namespace {

using testing::PassFixture;
using testing::small_job;

TEST(Pass, ALargeJobStartsUnderAStreamOfSmallOnes) {
  PassFixture world(testing::uniform_machine(4, 4, 0));
  EntryId id = 1;
  for (; id <= 100; ++id) world.queue.insert({id, 1, id, 1}, small_job(1, 10));
  constexpr EntryId kLarge = 1000000;
  world.queue.insert({kLarge, 1, id, 1}, small_job(4, 10, 4));
  std::optional<std::int64_t> started;
  for (std::int64_t now = 0; now < 100 * 600 && !started; now += 100) {
    while (world.running.size() > 0 && world.running.by_end().begin()->first.time <= now) {
      world.end(world.running.by_end().begin()->first.key);
    }
    for (int i = 0; i < 20; ++i)
      world.queue.insert({++id, 1, id + 1, 1}, small_job(1, static_cast<std::uint32_t>(1 + id % 10)));
    world.pass(now);
    if (!world.queue.find(kLarge)) started = now;
  }
  ASSERT_TRUE(started);
  EXPECT_LE(*started, 100 / 16 * 600 + 1200);
}

TEST(Pass, AnUnlimitedStreamDoesNotStarveALargeJob) {
  PassFixture world(testing::uniform_machine(1, 4, 0));
  world.queue.insert({1, 1, 1, 1}, small_job(1, kUnlimited));
  world.pass(0);
  world.queue.insert({2, 1, 2, 1}, small_job(4, 10));
  for (EntryId id = 3; id < 20; ++id) world.queue.insert({id, 1, id, 1}, small_job(1, kUnlimited));
  world.pass(1);
  EXPECT_EQ(world.running.size(), 1u);  // an unlimited one would outlast the reservation
  world.end(1);
  world.pass(2);
  EXPECT_EQ(world.starts.back().entry, 2u);
}

TEST(Pass, StopsAtMaxStartsAndContinuesWhereItWas) {
  PassFixture world(testing::uniform_machine(2, 4, 0));
  world.queue.insert({1, 1, 1, 20}, small_job(1, 10));
  PassOptions options;
  options.max_starts = 3;
  EXPECT_TRUE(world.pass(0, options).more);
  EXPECT_TRUE(world.pass(0, options).more);
  const PassResult last = world.pass(0, options);
  EXPECT_FALSE(last.more);
  EXPECT_EQ(last.started, 2u);
  EXPECT_EQ(world.queue.find(1)->startable, 12u);
}

TEST(Pass, BackfillsOnlyWhatEndsInTimeOrLeavesEnough) {
  PassFixture world(testing::uniform_machine(2, 4, 0));
  world.queue.insert({1, 1, 1, 1}, small_job(3, 10));  // n0 until 600
  world.pass(0);
  world.queue.insert({2, 1, 2, 1}, small_job(4, 10, 2));  // both nodes: from 600 on
  world.queue.insert({3, 1, 3, 1}, small_job(1, 11));     // would still be there
  world.queue.insert({4, 1, 4, 1}, small_job(1, 10));     // ends just in time
  world.pass(0);
  EXPECT_EQ(world.starts.size(), 2u);
  EXPECT_EQ(world.starts.back().entry, 4u);
  world.end(1);
  world.end(2);
  const PassResult result = world.pass(500);
  EXPECT_EQ(world.starts.back().entry, 2u);
  EXPECT_EQ(result.started, 1u);
}

TEST(Pass, WhatALimitRefusesHoldsNobodyUpAndStartsOnceItMay) {
  PassFixture world(testing::uniform_machine(1, 4, 0));
  world.queue.insert({1, 1, 1, 1}, small_job(4, 10));
  world.pass(0);
  Request limited = small_job(4, 10);
  limited.limit_group = 7;
  world.queue.insert({2, 1, 2, 1}, limited);  // does not fit, at first
  PassOptions options;
  bool refused = false;
  options.gate = [&](std::uint32_t group) -> std::optional<model::StateReason> {
    EXPECT_EQ(group, 7u);
    if (refused) return model::ASSOC_GRP_CPU;
    return std::nullopt;
  };
  world.pass(1, options);
  refused = true;
  world.end(1);
  world.queue.insert({3, 1, 3, 1}, small_job(4, 10));
  world.pass(2, options);
  EXPECT_EQ(world.starts.back().entry, 3u);
  EXPECT_EQ(WaitReasons(world.machine, world.queue, 2, options.gate).of(2), model::ASSOC_GRP_CPU);
  world.end(2);
  EXPECT_EQ(world.pass(3, options).started, 0u);
  refused = false;  // and nothing else has changed
  EXPECT_EQ(world.pass(3, options).started, 1u);
}

TEST(Pass, PartitionsHoldUpOnlyThoseWhoNeedTheSameNodes) {
  std::vector<model::NodeRecord> nodes{testing::make_node("a", 2, 0), testing::make_node("b", 2, 0)};
  const std::vector<PartitionNodes> partitions{{"one", {"a"}}, {"two", {"b"}}, {"both", {"a", "b"}}};
  PassFixture world(Machine::build(nodes, partitions).value());
  Request first = small_job(1, 10);
  world.queue.insert({1, 1, 1, 1}, first);  // on a, until 600
  world.pass(0);
  Request blocked = small_job(2, 10);  // needs the whole of a
  Request other = small_job(1, 100);
  other.partition = 1;
  Request either = small_job(1, 100);
  either.partition = 2;
  world.queue.insert({2, 1, 2, 1}, blocked);
  world.queue.insert({3, 1, 3, 1}, other);
  world.queue.insert({4, 1, 4, 2}, either);
  world.pass(0);
  ASSERT_EQ(world.starts.size(), 3u);
  EXPECT_EQ(world.starts[1].entry, 3u);
  EXPECT_EQ(world.starts[2].entry, 4u);
  EXPECT_EQ(world.starts[2].placement.nodes[0].node, 1u);  // around the reservation
  EXPECT_EQ(world.queue.find(4)->startable, 1u);
  world.machine.set_schedulable(0, false);
  world.end(1);
  world.pass(1);
  EXPECT_TRUE(world.queue.find(2));
  world.machine.set_schedulable(0, true);
}

TEST(Pass, TheCallbackMayRemoveTheSameJobElsewhere) {
  PassFixture world(testing::uniform_machine(1, 4, 0));
  world.queue.insert({1, 2, 1, 1}, small_job(1, 10));
  world.queue.insert({2, 1, 1, 1}, small_job(2, 10));  // the same job in another shape
  world.queue.insert({3, 1, 2, 1}, small_job(2, 10));
  std::vector<EntryId> started;
  run_pass(world.machine, world.queue, world.running, 0, {},
           [&](EntryId entry, const Placement&, std::int64_t) {
             started.push_back(entry);
             world.queue.remove(entry == 1 ? 2 : 1);
             return RunKey{entry};
           });
  EXPECT_EQ(started, (std::vector<EntryId>{1, 3}));
}

TEST(Pass, AJobThatNeedsDownNodesHoldsNobodyUp) {
  PassFixture world(testing::uniform_machine(2, 4, 0));
  world.machine.set_available(1, false);
  world.queue.insert({1, 9, 1, 1}, small_job(4, 10, 2));
  world.queue.insert({2, 1, 2, 1}, small_job(4, 1000));
  world.pass(0);
  ASSERT_EQ(world.starts.size(), 1u);
  EXPECT_EQ(world.starts[0].entry, 2u);
  world.machine.set_available(1, true);
  EXPECT_EQ(world.pass(1).started, 0u);
}

}  // namespace
}  // namespace minke::sched
