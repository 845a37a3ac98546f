// Shards: parts of GPUs that are allocated separately.
#include <gtest/gtest.h>

#include <vector>

#include "sched/pass.h"
#include "sched/test_cluster.h"

namespace minke::sched {
namespace {

using testing::make_gres;
using testing::Random;
using testing::uniform_machine;

Machine shared_machine(std::uint32_t nodes = 1) {
  return uniform_machine(nodes, 64, 64000,
                         {make_gres("a", 2), make_gres("b", 1), make_gres("", 12, "shard")});
}

Request ask(const Machine& machine, const std::string& name, std::uint32_t count) {
  Request request;
  request.gres.push_back({*machine.layout().find_gres_name(name), kAnyKind, count, 0, 0});
  return request;
}

DeviceSet devices_of(const Machine& machine, const Placement& placement, bool shards) {
  DeviceSet devices;
  for (const GresShare& gres : placement.nodes.front().gres)
    if (machine.layout().is_shard(machine.layout().gres_kinds()[gres.kind].name) == shards)
      devices |= gres.devices;
  return devices;
}

TEST(Shards, AreOfOneGpuAndOfTheFullestThatWillDo) {
  Machine machine = shared_machine();
  const auto give = [&](std::uint32_t count) {
    const auto placement = machine.place(ask(machine, "shard", count));
    EXPECT_TRUE(placement);
    machine.allocate(*placement);
    return *placement;
  };
  const Placement three = give(3);
  EXPECT_EQ(devices_of(machine, three, true), 0b0111u);
  const Placement two = give(2);
  EXPECT_EQ(devices_of(machine, two, true), 0b0011'0000u);
  EXPECT_EQ(devices_of(machine, give(1), true), 0b1000u);
  EXPECT_EQ(devices_of(machine, give(4), true), 0b1111'0000'0000u);
  EXPECT_FALSE(machine.place(ask(machine, "shard", 3)));  // though two GPUs together have them
  EXPECT_FALSE(machine.place(ask(machine, "gpu", 1)));
  machine.release(two);
  EXPECT_EQ(devices_of(machine, *machine.place(ask(machine, "gpu", 1)), false), 0b010u);
}

TEST(Shards, AWholeGpuHasNoneToGive) {
  Machine machine = shared_machine();
  const auto gpus = machine.place(ask(machine, "gpu", 2));
  machine.allocate(*gpus);
  const auto shards = machine.place(ask(machine, "shard", 4));
  EXPECT_EQ(devices_of(machine, *shards, true), 0b1111'0000'0000u);
  machine.allocate(*shards);
  EXPECT_FALSE(machine.place(ask(machine, "shard", 1)));
  machine.release(*gpus);
  EXPECT_TRUE(machine.place(ask(machine, "shard", 4)));
  EXPECT_FALSE(machine.place(ask(machine, "gpu", 3)));
}

TEST(Shards, BrokenGpusHaveNone) {
  Machine machine = shared_machine();
  machine.withhold(0, *machine.layout().gpu_name(), 0b011);
  EXPECT_EQ(devices_of(machine, *machine.place(ask(machine, "shard", 1)), true), 0b0001'0000'0000u);
  EXPECT_FALSE(machine.place(ask(machine, "gpu", 2)));
}

TEST(Shards, WhatCannotBe) {
  const Machine machine = shared_machine();
  EXPECT_TRUE(machine.could_ever(ask(machine, "shard", 4)));
  EXPECT_FALSE(machine.could_ever(ask(machine, "shard", 5)));
  for (const auto& gres :
       {std::vector{make_gres("", 3, "shard")}, std::vector{make_gres("", 1), make_gres("", 65, "shard")},
        std::vector{make_gres("", 300), make_gres("", 301, "shard")}}) {
    const auto node = testing::make_node("n", 1, 0, gres);
    EXPECT_FALSE(MachineLayout::build(std::span(&node, 1), {}));
  }
}

TEST(Shards, TheLastGpusHaveOneMoreIfTheyAreNotAsManyForEach) {
  Machine machine = uniform_machine(1, 64, 64000, {make_gres("", 3), make_gres("", 7, "shard")});
  const auto give = [&](std::uint32_t count) {
    const Placement placement = *machine.place(ask(machine, "shard", count));
    machine.allocate(placement);
    return to_model(machine.layout(), placement)[0].gres(0);
  };
  EXPECT_TRUE(machine.could_ever(ask(machine, "shard", 3)));
  EXPECT_FALSE(machine.could_ever(ask(machine, "shard", 4)));
  EXPECT_EQ(give(3).indices(2), 130u);
  EXPECT_FALSE(machine.place(ask(machine, "shard", 3)));
  EXPECT_EQ(give(2).indices(1), 1u);
  EXPECT_EQ(give(2).indices(1), 65u);
  EXPECT_FALSE(machine.place(ask(machine, "shard", 1)));
}

TEST(Shards, TheStoredFormTellsTheGpu) {
  const Machine machine = shared_machine();
  Placement placement = *machine.place(ask(machine, "shard", 2));
  placement.nodes.front().gres.front().devices = 0b0110'0000;
  const NodeAllocations stored = to_model(machine.layout(), placement);
  EXPECT_EQ(
      std::vector<std::uint32_t>(stored[0].gres(0).indices().begin(), stored[0].gres(0).indices().end()),
      (std::vector<std::uint32_t>{65, 66}));
  EXPECT_EQ(*from_model(machine.layout(), stored), placement);
}

// Whoever comes and goes: no GPU is a job's while shards of it are others', and all is free at the end.
TEST(ShardsProperty, NoGpuIsGivenTwice) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Machine machine = shared_machine(2);
    const Machine idle = machine;
    std::vector<Placement> running;
    for (int step = 0; step < 200; ++step) {
      if (!running.empty() && random.one_in(3)) {
        const std::size_t which = random.up_to(static_cast<std::uint32_t>(running.size()) - 1);
        machine.release(running[which]);
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
        continue;
      }
      Request request = random.one_in(3) ? ask(machine, "gpu", random.between(1, 3))
                                         : ask(machine, "shard", random.between(1, 4));
      request.exclusive = random.one_in(20);
      if (const auto placement = machine.place(request)) {
        machine.allocate(*placement);
        running.push_back(*placement);
      }
      DeviceSet taken[2];
      DeviceSet shared[2];
      for (const Placement& one : running) {
        const NodeId node = one.nodes.front().node;
        const DeviceSet gpus = devices_of(machine, one, false);
        const DeviceSet shards = devices_of(machine, one, true);
        ASSERT_TRUE((taken[node] & gpus).none());
        ASSERT_TRUE((shared[node] & shards).none());
        ASSERT_LE(machine.layout().gpus_of_shards(node, shards).count(), 1u);
        taken[node] |= gpus;
        shared[node] |= shards;
      }
      for (const NodeId node : {0u, 1u}) {
        ASSERT_TRUE((taken[node] & machine.layout().gpus_of_shards(node, shared[node])).none());
      }
    }
    for (const Placement& one : running) machine.release(one);
    ASSERT_TRUE(machine == idle);
  }
}

// Jobs that come later share what is free, and never keep the first one from starting when its GPU is
// expected.
TEST(ShardsProperty, BackfillDoesNotDelayTheFirst) {
  std::uint32_t waited = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Machine machine = shared_machine();
    PendingQueue queue;
    RunningSet running;
    std::int64_t started = -1;
    const auto pass = [&](std::int64_t now) {
      run_pass(machine, queue, running, now, {}, [&](EntryId entry, const Placement&, std::int64_t) {
        if (entry == 100) started = now;
        return RunKey{entry};
      });
    };
    for (EntryId id = 0; id < 4; ++id) {
      Request request = ask(machine, random.one_in(2) ? "gpu" : "shard", random.between(1, 2));
      request.time_limit_minutes = random.between(1, 20);
      queue.insert({id, 500, id, 1}, request);
    }
    pass(0);
    if (queue.size() > 0) continue;
    Request first = ask(machine, random.one_in(2) ? "gpu" : "shard", random.between(1, 3));
    first.time_limit_minutes = 10;
    queue.insert({100, 400, 100, 1}, first);
    // When it would start with nobody behind it.
    std::int64_t alone = 0;
    {
      Machine copy = machine;
      RunningSet left = running;
      for (; !copy.place(first); left.remove(left.by_end().begin()->first.key)) {
        alone = left.by_end().begin()->first.time;
        copy.release(left.by_end().begin()->second);
      }
    }
    for (EntryId id = 200; id < 230; ++id) {
      Request request = ask(machine, random.one_in(3) ? "gpu" : "shard", random.between(1, 3));
      request.time_limit_minutes = random.between(1, 30);
      queue.insert({id, 300, id, 1}, request);
    }
    for (std::int64_t now = 0; started < 0 && now <= 3600; now += 60) {
      while (running.size() > 0 && running.by_end().begin()->first.time <= now)
        machine.release(*running.remove(running.by_end().begin()->first.key));
      pass(now);
    }
    ASSERT_EQ(started, alone);
    waited += started > 0;
  }
  EXPECT_GT(waited, 100u);
}

}  // namespace
}  // namespace minke::sched
