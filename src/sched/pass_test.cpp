#include "sched/pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "sched/test_cluster.h"

namespace minke::sched {
namespace {

using testing::Random;

struct Start {
  EntryId entry = 0;
  std::int64_t time = 0;
  Placement placement;
  bool operator==(const Start&) const = default;
};

// A cluster that the tests run through time.
struct World {
  explicit World(Machine m) : machine(std::move(m)) {}

  PassResult pass(std::int64_t now, const PassOptions& options = {}) {
    return run_pass(machine, queue, running, now, options,
                    [&](EntryId entry, const Placement& placement, std::int64_t) {
                      starts.push_back({entry, now, placement});
                      return ++last_key;
                    });
  }
  void end(RunKey key) { machine.release(running.remove(key).value()); }

  Machine machine;
  PendingQueue queue;
  RunningSet running;
  std::vector<Start> starts;
  RunKey last_key = 0;
};

Request small_job(std::uint32_t cpus, std::uint32_t minutes, std::uint32_t nodes = 1) {
  Request request;
  request.cpus_per_task = cpus;
  request.time_limit_minutes = minutes;
  request.min_nodes = request.max_nodes = nodes;
  return request;
}

World random_world(Random& random, bool two_partitions) {
  World world(testing::random_machine(random, 6, two_partitions));
  const std::uint32_t running = random.up_to(6);
  for (std::uint32_t i = 0; i < running; ++i) {
    const Request request = testing::random_request(random, world.machine);
    const auto placement = world.machine.place(request);
    if (!placement) continue;
    world.machine.allocate(*placement);
    world.running.add(++world.last_key, 1000 + 60 * random.up_to(20) - 120, *placement);
  }
  const std::uint32_t pending = random.between(2, 20);
  std::vector<Request> shapes;
  for (EntryId id = 1; id <= pending; ++id) {
    Request request = testing::random_request(random, world.machine);
    if (!shapes.empty() && random.one_in(2))
      request = shapes[random.up_to(static_cast<std::uint32_t>(shapes.size() - 1))];
    shapes.push_back(request);
    world.queue.insert({id, random.up_to(3), id, random.one_in(4) ? random.between(2, 4) : 1}, request);
  }
  return world;
}

// The entries in order, with their requests.
std::vector<std::pair<PendingEntry, Request>> in_order(const PendingQueue& queue) {
  std::vector<std::pair<PendingEntry, Request>> all;
  PendingQueue::Cursor cursor(queue);
  while (const auto item = cursor.next()) all.emplace_back(item->entry, queue.request(item->class_id));
  return all;
}

// The earliest start of a request if nothing else began, by trying all ends one after the other.
std::optional<std::int64_t> plain_earliest(const Machine& machine, const RunningSet& running,
                                           const Request& request, std::int64_t now) {
  Machine future = machine;
  if (future.place(request)) return now;
  for (auto it = running.by_end().begin(); it != running.by_end().end();) {
    const std::int64_t time = std::max(it->first.time, now + 1);
    for (; it != running.by_end().end() && std::max(it->first.time, now + 1) == time; ++it)
      future.release(it->second);
    if (future.place(request)) return time;
  }
  return std::nullopt;
}

TEST(Pass, StrictPriorityWithoutBackfill) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    World world = random_world(random, true);
    // The plain way: one after the other, until the first of each partition that does not fit.
    Machine machine = world.machine;
    std::vector<bool> stopped(machine.layout().partitions().size());
    std::vector<Start> expected;
    for (const auto& [entry, request] : in_order(world.queue)) {
      for (std::uint32_t i = 0; i < entry.startable && !stopped[request.partition]; ++i) {
        const auto placement = machine.place(request);
        if (!placement) {
          stopped[request.partition] = machine.could_on_available(request);
          break;
        }
        machine.allocate(*placement);
        expected.push_back({entry.id, 1000, *placement});
      }
    }
    PassOptions options;
    options.backfill = false;
    world.pass(1000, options);
    ASSERT_EQ(world.starts, expected);
    ASSERT_TRUE(world.machine == machine);
  }
}

// The heart of the matter. What is ahead of the first blocked job starts as without backfill; what is behind
// it leaves its start where it was.
TEST(Pass, BackfilledJobsNeverDelayTheFirstThatIsBlocked) {
  int backfilled = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    World world = random_world(random, seed % 2 == 0);
    World ahead = world;
    std::optional<Request> blocked;
    std::size_t started_ahead = 0;
    for (const auto& [entry, request] : in_order(world.queue)) {
      for (std::uint32_t i = 0; i < entry.startable && !blocked; ++i) {
        const auto placement = ahead.machine.place(request);
        if (!placement) {
          if (ahead.machine.could_on_available(request)) blocked = request;
          break;
        }
        ahead.machine.allocate(*placement);
        ahead.running.add(++ahead.last_key, 1000 + limit_seconds(request.time_limit_minutes), *placement);
        ++started_ahead;
      }
      if (blocked) break;
    }
    const auto before = blocked ? plain_earliest(ahead.machine, ahead.running, *blocked, 1000) : std::nullopt;
    world.pass(1000);
    ASSERT_GE(world.starts.size(), started_ahead);
    if (!blocked) continue;
    ASSERT_TRUE(before);
    ASSERT_EQ(plain_earliest(world.machine, world.running, *blocked, 1000), before);
    backfilled += world.starts.size() > started_ahead;
  }
  EXPECT_GT(backfilled, 500);
}

// As long as nothing with a higher priority arrives and nothing outruns its limit, the first reservation
// holds.
TEST(Pass, AFirstReservationIsKeptThroughTime) {
  int waited = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    World world(testing::random_machine(random, 5));
    std::map<RunKey, std::int64_t> ends;
    EntryId next_id = 1;
    const auto submit = [&](std::uint64_t priority, const Request& request) {
      world.queue.insert({next_id, priority, next_id, 1}, request);
      return next_id++;
    };
    for (int i = 0; i < 12; ++i) submit(1, testing::random_request(random, world.machine));
    std::optional<EntryId> watched;
    Request watched_request;
    std::optional<std::int64_t> promised;
    for (std::int64_t now = 0; now < 4000; now += 60) {
      for (auto it = ends.begin(); it != ends.end();) {
        if (it->second > now) {
          ++it;
          continue;
        }
        world.end(it->first);
        it = ends.erase(it);
      }
      for (int i = 0; i < 3; ++i) submit(1, testing::random_request(random, world.machine));
      if (now == 300) {
        Request big = testing::random_request(random, world.machine);
        if (world.machine.could_on_available(big)) watched = submit(2, big), watched_request = big;
      }
      const std::size_t known = world.starts.size();
      const RunKey first_key = world.last_key + 1;
      world.pass(now);
      for (std::size_t i = known; i < world.starts.size(); ++i) {
        const RunKey key = first_key + (i - known);
        ends[key] = now + 30 + random.up_to(900);  // many end before their limits
        for (const auto& [end, placement] : world.running.by_end()) {
          if (end.key == key) ends[key] = std::min(ends[key], end.time);
        }
      }
      if (!watched) continue;
      if (!world.queue.find(*watched)) break;
      const auto earliest = plain_earliest(world.machine, world.running, watched_request, now);
      ASSERT_TRUE(earliest);
      ASSERT_LE(*earliest, promised.value_or(*earliest));
      promised = earliest;
      ++waited;
      ASSERT_LE(now, *promised);
    }
    ASSERT_FALSE(watched && world.queue.find(*watched));
  }
  EXPECT_GT(waited, 300);
}

TEST(Pass, ALargeJobStartsUnderAStreamOfSmallOnes) {
  World world(testing::uniform_machine(4, 4, 0));
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
  World world(testing::uniform_machine(1, 4, 0));
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

TEST(Pass, FirstInFirstOutWithinAClass) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    World world = random_world(random, true);
    std::map<EntryId, std::pair<PendingEntry, PendingQueue::ClassId>> known;
    for (EntryId id = 1; id <= 20; ++id) {
      if (const auto entry = world.queue.find(id)) known[id] = {*entry, world.queue.class_of(id).value()};
    }
    world.pass(1000);
    std::map<PendingQueue::ClassId, PendingEntry> last;
    for (const auto& start : world.starts) {
      const auto& [entry, group] = known.at(start.entry);
      ASSERT_FALSE(last.contains(group) && PendingQueue::before(entry, last[group]));
      last[group] = entry;
    }
    for (const auto& [id, entry] : known) {  // none that still waits is ahead of one that started
      if (world.queue.find(id) && last.contains(entry.second)) {
        ASSERT_FALSE(PendingQueue::before(entry.first, last[entry.second]));
      }
    }
  }
}

TEST(Pass, SameInputsSameResult) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    World a = random_world(random, true);
    World b = a;
    const PassResult first = a.pass(1000);
    const PassResult second = b.pass(1000);
    ASSERT_EQ(a.starts, b.starts);
    ASSERT_TRUE(a.machine == b.machine);
    ASSERT_EQ(first.tested, second.tested);
    ASSERT_EQ(first.reservations.size(), second.reservations.size());
  }
}

TEST(Pass, StopsAtMaxStartsAndContinuesWhereItWas) {
  World world(testing::uniform_machine(2, 4, 0));
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
  World world(testing::uniform_machine(2, 4, 0));
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

TEST(Pass, PartitionsHoldUpOnlyThoseWhoNeedTheSameNodes) {
  std::vector<model::NodeRecord> nodes{testing::make_node("a", 2, 0), testing::make_node("b", 2, 0)};
  const std::vector<PartitionNodes> partitions{{"one", {"a"}}, {"two", {"b"}}, {"both", {"a", "b"}}};
  World world(Machine::build(nodes, partitions).value());
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
  World world(testing::uniform_machine(1, 4, 0));
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
  World world(testing::uniform_machine(2, 4, 0));
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
