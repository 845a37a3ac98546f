// Requests that are placed together or not at all, on which nodes and for how long: the rarer cases.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/cluster.pb.h"
#include "sched/test_pass_fixture.h"

namespace minke::sched {
namespace {

using testing::PassFixture;
using testing::small_job;

Request pair_of(Request leader, Request companion) {
  leader.companions.push_back(std::move(companion));
  return leader;
}

TEST(Companions, StartTogetherOrNotAtAll) {
  PassFixture world(testing::uniform_machine(2, 4, 0));
  world.queue.insert({1, 1, 1, 1}, small_job(2, 10));
  world.pass(0);
  world.queue.insert({2, 1, 2, 1}, pair_of(small_job(4, 10), small_job(3, 20)));
  EXPECT_EQ(world.pass(1).started, 0u);
  world.end(1);
  EXPECT_EQ(world.pass(2).started, 1u);
  ASSERT_EQ(world.starts.size(), 3u);
  EXPECT_EQ(world.starts[1].entry, 2u);
  EXPECT_EQ(world.starts[2].entry, 2u);
  EXPECT_EQ(world.starts[1].placement.nodes.at(0).cpus, 4u);
  EXPECT_EQ(world.starts[2].placement.nodes.at(0).cpus, 3u);
  EXPECT_TRUE(world.starts[1].placement.parts.empty());
  // Each has an end of its own, and can be ended by itself.
  EXPECT_EQ(world.running.by_end().begin()->first.time, 2 + 600);
  world.end(3);
  world.end(2);
  EXPECT_EQ(world.machine.free_cpus(0) + world.machine.free_cpus(1), 8);
}

TEST(Companions, MayShareANode) {
  PassFixture world(testing::uniform_machine(1, 4, 0, {testing::make_gres("", 2)}));
  Request leader = small_job(1, 10);
  leader.gres.push_back({.name = 0, .kind = kAnyKind, .per_node = 1});
  world.queue.insert({1, 1, 1, 1}, pair_of(leader, leader));
  EXPECT_EQ(world.pass(0).started, 1u);
  ASSERT_EQ(world.starts.size(), 2u);
  EXPECT_NE(world.starts[0].placement.nodes[0].gres.at(0).devices,
            world.starts[1].placement.nodes[0].gres.at(0).devices);
}

TEST(Companions, AreNotStarvedByWhatComesLater) {
  PassFixture world(testing::uniform_machine(2, 2, 0));
  world.queue.insert({1, 1, 1, 1}, small_job(2, 10));
  world.pass(0);
  world.queue.insert({2, 1, 2, 1}, pair_of(small_job(2, 10), small_job(2, 10)));
  for (EntryId id = 3; id < 10; ++id) world.queue.insert({id, 1, id, 1}, small_job(1, 60));
  EXPECT_EQ(world.pass(1).started, 0u);  // they would outlast the time at which the two can start
  world.end(1);
  world.pass(2);
  EXPECT_EQ(world.starts.back().entry, 2u);
}

TEST(TimeMin, LetsAJobEndBeforeAReservationBegins) {
  PassFixture world(testing::uniform_machine(1, 4, 0));
  world.queue.insert({1, 1, 1, 1}, small_job(2, 30));
  world.pass(0);
  world.queue.insert({2, 1, 2, 1}, small_job(4, 10));
  Request shorter = small_job(1, 60);
  world.queue.insert({3, 1, 3, 1}, shorter);
  EXPECT_EQ(world.pass(60).started, 0u);
  shorter.time_min_minutes = 30;
  world.queue.insert({4, 1, 4, 1}, shorter);
  EXPECT_EQ(world.pass(61).started, 0u);  // only 28 minutes are left
  shorter.time_min_minutes = 5;
  world.queue.insert({5, 1, 5, 1}, shorter);
  EXPECT_EQ(world.pass(62).started, 1u);
  EXPECT_EQ(world.starts.back().entry, 5u);
  ASSERT_NE(world.running.find(2), nullptr);
  const auto end = std::find_if(world.running.by_end().begin(), world.running.by_end().end(),
                                [](const auto& run) { return run.first.key == 2; });
  EXPECT_EQ(end->first.time, 62 + 28 * 60);
}

TEST(Contiguous, NodesFollowOneAnother) {
  PassFixture world(testing::uniform_machine(4, 2, 0));
  Request second = small_job(2, 10);
  second.required = {1};
  world.queue.insert({1, 1, 1, 1}, second);
  world.pass(0);
  Request pair = small_job(1, 10, 2);
  pair.contiguous = true;
  const auto placement = world.machine.place(pair);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->nodes.at(0).node, 2u);
  EXPECT_EQ(placement->nodes.at(1).node, 3u);
  pair.min_nodes = pair.max_nodes = 3;
  EXPECT_FALSE(world.machine.place(pair));
  pair.contiguous = false;
  EXPECT_TRUE(world.machine.place(pair));
}

TEST(Features, OfOneCaseOnAllNodesOrCounted) {
  std::vector<model::NodeRecord> nodes;
  for (const char* name : {"r0", "r1", "s0", "s1"}) {
    nodes.push_back(testing::make_node(name, 2, 1000));
    nodes.back().add_features(name[0] == 'r' ? "red" : "blue");
  }
  const std::vector<PartitionNodes> partitions{{"main", {"r0", "r1", "s0", "s1"}}};
  Machine machine = Machine::build(nodes, partitions).value();
  Request one = small_job(2, 10);
  machine.allocate(*machine.place(one));  // r0
  Request pair = small_job(1, 10, 2);
  pair.cases = {{{0}}, {{1}}};
  auto placement = machine.place(pair);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->nodes.at(0).node, 2u);
  EXPECT_EQ(placement->nodes.at(1).node, 3u);
  Request counted = small_job(1, 10, 2);
  counted.feature_counts = {{{0}, 1}, {{1}, 1}};
  placement = machine.place(counted);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->nodes.at(0).node, 1u);
  EXPECT_EQ(placement->nodes.at(1).node, 2u);
  counted.feature_counts = {{{0}, 2}};
  EXPECT_FALSE(machine.place(counted));
  counted.feature_counts = {{{0, 1}, 1}};  // no node has both
  EXPECT_FALSE(machine.place(counted));
}

}  // namespace
}  // namespace minke::sched
