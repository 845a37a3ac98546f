// Properties of the pass that hold for all clusters and jobs, tested on thousands of small random ones.
#include "sched/pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "sched/test_pass_fixture.h"

namespace minke::sched {
namespace {

using testing::PassFixture;
using testing::Random;
using testing::Start;

PassFixture random_world(Random& random, bool two_partitions) {
  PassFixture world(testing::random_machine(random, 6, two_partitions));
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
    PassFixture world = random_world(random, true);
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

// The central property: jobs ahead of the first blocked job start as without backfill; jobs
// behind it do not change its start.
TEST(Pass, BackfilledJobsNeverDelayTheFirstThatIsBlocked) {
  int backfilled = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    PassFixture world = random_world(random, seed % 2 == 0);
    PassFixture ahead = world;
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

// While nothing with a higher priority arrives and no job outruns its
// limit, the first reservation holds.
TEST(Pass, AFirstReservationIsKeptThroughTime) {
  int waited = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    PassFixture world(testing::random_machine(random, 5));
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

TEST(Pass, FirstInFirstOutWithinAClass) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    PassFixture world = random_world(random, true);
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
    PassFixture a = random_world(random, true);
    PassFixture b = a;
    const PassResult first = a.pass(1000);
    const PassResult second = b.pass(1000);
    ASSERT_EQ(a.starts, b.starts);
    ASSERT_TRUE(a.machine == b.machine);
    ASSERT_EQ(first.tested, second.tested);
    ASSERT_EQ(first.reservations.size(), second.reservations.size());
  }
}

// Jobs that outrun their limits, changing nodes, adopted jobs, requests that the Placer treats by
// heuristics, and several reservations in overlapping partitions: the bookkeeping always stays
// correct (the Machine checks it).
TEST(Pass, KeepsItsBooksWhateverHappens) {
  std::size_t starts = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    PassFixture world(testing::random_machine(random, 6, true));
    const Machine idle = world.machine;
    PassOptions options;
    options.reservations_per_partition = random.between(1, 4);
    options.backfill_window_seconds = random.one_in(4) ? 600 : 0;
    options.max_backfill_tests = random.one_in(4) ? 3 : 0;
    if (random.one_in(3)) {
      const Placement large{{{0, 10, 5000, 1, {}}}};
      world.machine.adopt(large);
      world.running.add(++world.last_key, 500, large);
    }
    EntryId next = 1;
    for (std::int64_t now = 0; now < 3000; now += 60) {
      for (std::uint32_t i = random.up_to(4); i > 0; --i, ++next) {
        world.queue.insert({next, random.up_to(2), next, random.between(1, 3)},
                           testing::random_request(random, world.machine, false));
      }
      const auto node = random.up_to(static_cast<std::uint32_t>(idle.layout().nodes().size() - 1));
      if (random.one_in(5)) world.machine.set_available(node, !world.machine.available(node));
      std::vector<RunKey> ended;
      for (const auto& [end, placement] : world.running.by_end()) {
        if (random.one_in(end.time <= now ? 2 : 10)) ended.push_back(end.key);
      }
      for (const RunKey key : ended) world.end(key);
      const PassResult result = world.pass(now, options);
      starts += result.started;
      for (const auto& reservation : result.reservations) {
        ASSERT_GT(reservation.start, now);
        ASSERT_TRUE(world.queue.find(reservation.entry));
      }
    }
    while (world.running.size() > 0) world.end(world.running.by_end().begin()->first.key);
    for (NodeId node = 0; node < idle.layout().nodes().size(); ++node)
      world.machine.set_available(node, true);
    ASSERT_TRUE(world.machine == idle);
  }
  EXPECT_GT(starts, 5000u);
}

}  // namespace
}  // namespace minke::sched
