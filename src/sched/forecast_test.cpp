#include "sched/forecast.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "model/job_state.pb.h"
#include "sched/test_cluster.h"
#include "sched/wait_reason.h"

namespace minke::sched {
namespace {

using testing::Random;

Request job(std::uint32_t cpus, std::uint32_t minutes) {
  Request request;
  request.cpus_per_task = cpus;
  request.time_limit_minutes = minutes;
  return request;
}

struct ForecastFixture {
  explicit ForecastFixture(Machine m) : machine(std::move(m)) {}
  void pass(std::int64_t now) {
    run_pass(machine, queue, running, now, {}, [&](EntryId entry, const Placement&, std::int64_t) {
      starts.try_emplace(entry, now);
      return ++last_key;
    });
  }
  void end_until(std::int64_t now) {
    while (running.size() > 0 && running.by_end().begin()->first.time <= now) {
      machine.release(*running.remove(running.by_end().begin()->first.key));
    }
  }
  Machine machine;
  PendingQueue queue;
  RunningSet running;
  std::map<EntryId, std::int64_t> starts;
  RunKey last_key = 0;
};

// A job in two partitions starts once, where it can first.
TEST(Forecast, AJobInSeveralPartitionsStartsOnce) {
  Machine machine = testing::uniform_machine(1, 4, 1000);
  PendingQueue queue;
  RunningSet running;
  ForecastOptions options;
  options.partition_bits = 8;
  queue.insert({(1 << 8) | 0, 1, 1, 1}, job(4, 10));
  queue.insert({(1 << 8) | 1, 1, 1, 1}, job(4, 10));
  queue.insert({(2 << 8) | 0, 1, 2, 1}, job(4, 10));
  const auto second = forecast_entry(machine, queue, running, 2 << 8, 0, options);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->start, 600);
  EXPECT_EQ(forecast(machine, queue, running, 0, options).size(), 2);
  // With a request that it might have made instead.
  EXPECT_EQ(forecast_changed(machine, queue, running, 1 << 8, job(2, 10), 0, options)->start, 0);
  running.add(7, 300, machine.place(job(2, 5)).value());
  machine.allocate(machine.place(job(2, 5)).value());
  EXPECT_EQ(forecast_entry(machine, queue, running, (1 << 8) | 1, 0, options)->start, 300);
  EXPECT_EQ(forecast_changed(machine, queue, running, (1 << 8) | 1, job(2, 10), 0, options)->start, 0);
}

// Nobody knows when a job without a limit ends, but where an earlier run tells.
TEST(Forecast, WhatFollowsAJobWithoutALimitIsToldSo) {
  Machine machine = testing::uniform_machine(1, 4, 1000);
  PendingQueue queue;
  RunningSet running;
  const auto placed = machine.place(job(3, 5)).value();
  machine.allocate(placed);
  running.add(7, kUnlimitedSeconds, placed);
  queue.insert({1, 3, 1, 1}, job(1, 10));
  queue.insert({2, 2, 2, 1}, job(4, 10));
  queue.insert({3, 1, 3, 1}, job(4, 10));
  ForecastOptions options;
  options.run_unlimited = [](RunKey key) { return key == 7; };
  auto starts = forecast(machine, queue, running, 0, options);
  ASSERT_EQ(starts.size(), 3);
  EXPECT_FALSE(starts[0].after_unlimited);
  EXPECT_TRUE(starts[1].after_unlimited && starts[2].after_unlimited);
  options.believed_end = [](RunKey) { return 100; };
  starts = forecast(machine, queue, running, 0, options);
  EXPECT_FALSE(starts[1].after_unlimited || starts[2].after_unlimited);
  options.entry_unlimited = [](EntryId entry) { return entry == 2; };
  starts = forecast(machine, queue, running, 0, options);
  EXPECT_TRUE(!starts[1].after_unlimited && starts[2].after_unlimited);
}

// At most so many of a limit group at a time.
class AtMost : public ForeseenLimits {
 public:
  AtMost(std::size_t most, std::set<RunKey> running) : most_(most), running_(std::move(running)) {}
  std::optional<model::StateReason> refuse(std::uint32_t, std::int64_t) override {
    if (running_.size() < most_) return std::nullopt;
    return model::ASSOC_GRP_JOBS;
  }
  void started(RunKey key, std::uint32_t, std::int64_t) override { running_.insert(key); }
  void ended(RunKey key) override { running_.erase(key); }

 private:
  std::size_t most_;
  std::set<RunKey> running_;
};

// Where room is not what is lacking, a job waits for those that the same limits count.
TEST(Forecast, FollowsLimitsThroughTheFuture) {
  Machine machine = testing::uniform_machine(1, 8, 1000);
  PendingQueue queue;
  RunningSet running;
  const auto placement = machine.place(job(1, 5)).value();
  machine.allocate(placement);
  running.add(7, 300, placement);
  Request limited = job(1, 10);
  limited.limit_group = 1;
  for (EntryId id = 1; id <= 3; ++id) queue.insert({id, 1, id, 1}, limited);
  queue.insert({4, 1, 4, 1}, job(1, 10));
  ForecastOptions options;
  options.limits = [] { return std::make_unique<AtMost>(2, std::set<RunKey>{7}); };
  const auto start = [&](EntryId id) {
    return forecast_entry(machine, queue, running, id, 0, options)->start;
  };
  EXPECT_EQ(start(1), 0);
  EXPECT_EQ(start(2), 300);
  EXPECT_EQ(start(3), 600);
  EXPECT_EQ(start(4), 0);
}

// One that enters the queue later starts then at the earliest, and passes those that it outranks.
TEST(Forecast, OfAJobThatEntersTheQueueLater) {
  Machine machine = testing::uniform_machine(1, 4, 1000);
  PendingQueue queue;
  RunningSet running;
  queue.insert({1, 1, 1, 1}, job(4, 10));
  queue.insert({2, 1, 2, 1}, job(4, 10));
  EXPECT_EQ(forecast_later(machine, queue, running, {3, 1, 3, 1}, job(4, 10), 300, 0)->start, 1200);
  EXPECT_EQ(forecast_later(machine, queue, running, {3, 2, 3, 1}, job(4, 10), 300, 0)->start, 600);
  EXPECT_EQ(forecast_later(machine, queue, running, {3, 1, 3, 1}, job(4, 10), 5000, 0)->start, 5000);
  PendingQueue empty;
  EXPECT_EQ(forecast_later(machine, empty, running, {3, 1, 3, 1}, job(4, 10), 700, 0)->start, 700);
}

// When every job runs to its limit and nobody submits more, the forecast comes true, to the second.
TEST(Forecast, ComesTrueWhenNothingUnforeseenHappens) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ForecastFixture world(testing::random_machine(random, 5, true));
    for (EntryId id = 1; id <= 15; ++id) {
      world.queue.insert({id, random.up_to(2), id, random.between(1, 3)},
                         testing::random_request(random, world.machine));
      if (id == 7) world.pass(0);
    }
    const Machine machine_before = world.machine;
    world.starts.clear();
    const auto expected = forecast(world.machine, world.queue, world.running, 0);
    EXPECT_TRUE(world.machine == machine_before);
    for (const auto& start : expected) {
      const auto alone = forecast_entry(world.machine, world.queue, world.running, start.entry, 0);
      ASSERT_TRUE(alone);
      EXPECT_EQ(alone->start, start.start);
      EXPECT_EQ(alone->placement, start.placement);
    }
    for (std::int64_t now = 0; world.queue.size() > 0;) {
      world.pass(now);
      if (world.running.size() == 0) break;
      now = world.running.by_end().begin()->first.time;
      world.end_until(now);
    }
    ASSERT_EQ(expected.size(), world.starts.size());
    for (const auto& start : expected) EXPECT_EQ(world.starts.at(start.entry), start.start);
    compared += expected.size();
  }
  EXPECT_GT(compared, 1500u);
}

TEST(Forecast, OfAJobThatIsNotSubmitted) {
  ForecastFixture world(testing::uniform_machine(1, 4, 0));
  world.queue.insert({1, 1, 1, 1}, job(4, 10));
  world.pass(100);
  world.queue.insert({2, 1, 2, 1}, job(4, 20));
  EXPECT_EQ(forecast_request(world.machine, world.queue, world.running, job(2, 5), 1, 100)->start,
            100 + 600 + 1200);
  EXPECT_EQ(forecast_request(world.machine, world.queue, world.running, job(2, 5), 9, 100)->start, 100 + 600);
  EXPECT_EQ(world.queue.size(), 1u);
}

TEST(Forecast, IsBounded) {
  ForecastFixture world(testing::uniform_machine(1, 1, 0));
  world.queue.insert({1, 1, 1, 1000000}, job(1, 1));
  world.queue.insert({2, 1, 2, 1}, job(1, 1));
  world.queue.insert({3, 1, 3, 1}, job(1, 1));
  ForecastOptions options;
  options.max_starts = 10;
  const auto expected = forecast(world.machine, world.queue, world.running, 0, options);
  ASSERT_EQ(expected.size(), 1u);
  EXPECT_EQ(expected[0].start, 0);
  EXPECT_FALSE(forecast_entry(world.machine, world.queue, world.running, 2, 0, options));
  ASSERT_TRUE(world.queue.remove(1));
  options.max_entries = 1;
  EXPECT_EQ(forecast(world.machine, world.queue, world.running, 0, options).size(), 1u);
  EXPECT_EQ(forecast_entry(world.machine, world.queue, world.running, 3, 0, options)->start, 60);
}

// What a forecast was made of goes on, or is gone, before it is finished; and it is cut anywhere.
TEST(Forecast, IsTheSameInPieces) {
  std::size_t starts = 0, pieces = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    auto world = std::make_unique<ForecastFixture>(testing::random_machine(random, 5, true));
    const EntryId entries = 15;
    for (EntryId id = 1; id <= entries; ++id) {
      Request request = testing::random_request(random, world->machine);
      request.limit_group = id % 3 == 0 ? 1 : 0;
      world->queue.insert({id, random.up_to(2), id, random.between(1, 3)}, request);
      if (id == 7) world->pass(0);
    }
    auto asked = std::make_shared<bool>(true);  // may be
    ForecastOptions options;
    options.max_passes = static_cast<std::uint32_t>(random.between(5, 60));
    options.max_starts = static_cast<std::uint32_t>(random.between(3, 40));
    options.believed_end = [asked](RunKey key) { return *asked ? std::int64_t{60} * (key % 7) : 0; };
    options.believed_seconds = [asked](EntryId entry) { return *asked ? std::int64_t{40} * entry : 0; };
    options.run_unlimited = [asked](RunKey key) { return !*asked || key % 4 == 0; };
    options.entry_unlimited = [asked](EntryId entry) { return !*asked || entry % 5 == 0; };
    options.limits = [] { return std::make_unique<AtMost>(2, std::set<RunKey>()); };
    const Request other = testing::random_request(random, world->machine);
    const PendingEntry later{99, 1, 99, 1};
    const EntryId wanted = world->queue.find(entries) ? entries : 0;
    const auto all = forecast(world->machine, world->queue, world->running, 0, options);
    const auto of_later =
        forecast_later(world->machine, world->queue, world->running, later, other, 90, 0, options);
    std::vector<ForecastInPieces> cut;
    cut.push_back(ForecastInPieces::forecast(world->machine, world->queue, world->running, 0, options));
    cut.push_back(ForecastInPieces::forecast_later(world->machine, world->queue, world->running, later, other,
                                                   90, 0, options));
    std::vector<std::optional<ExpectedStart>> whole{std::nullopt, of_later};
    if (wanted != 0) {
      whole.push_back(forecast_entry(world->machine, world->queue, world->running, wanted, 0, options));
      whole.push_back(
          forecast_changed(world->machine, world->queue, world->running, wanted, other, 0, options));
      cut.push_back(
          ForecastInPieces::forecast_entry(world->machine, world->queue, world->running, wanted, 0, options));
      cut.push_back(ForecastInPieces::forecast_changed(world->machine, world->queue, world->running, wanted,
                                                       other, 0, options));
    }
    world.reset();
    options = {};
    *asked = false;
    for (bool any = true; std::exchange(any, false);) {
      for (ForecastInPieces& one : cut) any |= !one.go_on(static_cast<std::uint32_t>(random.between(1, 4)));
      ++pieces;
    }
    ASSERT_EQ(cut[0].starts().size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(cut[0].starts()[i], all[i]);
    for (std::size_t i = 0; i < cut.size(); ++i) EXPECT_EQ(cut[i].start(), whole[i]);
    starts += all.size();
  }
  EXPECT_GT(starts, 1000u);
  EXPECT_GT(pieces, 1000u);
}

// Many tasks that start at one moment are many passes: none is long.
TEST(Forecast, ManyStartsAtAMomentAreInPieces) {
  ForecastFixture world(testing::uniform_machine(20, 100, 0));
  world.queue.insert({1, 2, 1, 2000}, job(1, 10));
  world.queue.insert({2, 1, 2, 1}, job(1, 10));
  auto cut = ForecastInPieces::forecast_entry(world.machine, world.queue, world.running, 2, 5);
  EXPECT_FALSE(cut.go_on(1));
  EXPECT_FALSE(cut.go_on(4));
  while (!cut.go_on(1)) {
  }
  EXPECT_EQ(cut.start()->start, 605);
  ForecastOptions now_only;
  now_only.max_passes = 1;  // a moment
  ASSERT_TRUE(world.queue.set_startable(1, 1999));
  EXPECT_EQ(forecast_entry(world.machine, world.queue, world.running, 2, 5, now_only)->start, 5);
}

TEST(WaitReasons, FirstOfAPartitionWaitsForResourcesTheOthersForPriority) {
  ForecastFixture world(testing::uniform_machine(2, 4, 0));
  world.queue.insert({1, 1, 1, 2}, job(4, 10));
  world.pass(0);
  world.queue.insert({2, 1, 2, 1}, job(1, 10));
  world.queue.insert({3, 5, 3, 1}, job(2, 10));
  world.queue.insert({4, 1, 4, 1}, job(2, 10));
  Request down = job(1, 10);
  down.min_nodes = down.max_nodes = 2;
  world.machine.set_available(1, false);
  world.queue.insert({5, 9, 5, 1}, down);
  const WaitReasons reasons(world.machine, world.queue);
  EXPECT_EQ(reasons.of(2), model::WAIT_PRIORITY);
  EXPECT_EQ(reasons.of(3), model::WAIT_RESOURCES);
  EXPECT_EQ(reasons.of(4), model::WAIT_PRIORITY);
  EXPECT_EQ(reasons.of(5), model::WAIT_NODE_NOT_AVAIL);
  EXPECT_EQ(reasons.of(1), model::WAIT_NO_REASON);
  world.machine.set_schedulable(0, false);
  EXPECT_EQ(WaitReasons(world.machine, world.queue).of(3), model::WAIT_PART_DOWN);
}

}  // namespace
}  // namespace minke::sched
