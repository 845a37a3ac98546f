// The pass, compared with one without shortcuts, which tries every entry
// in order and remembers nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sched/placer.h"
#include "sched/planner.h"
#include "sched/test_pass_fixture.h"

namespace minke::sched {
namespace {

using testing::PassFixture;
using testing::Random;
using testing::Start;

struct Waiting {
  PendingEntry entry;
  Request request;
};

std::optional<Placement> place(const Machine& machine, const Request& request, const Caps* caps,
                               std::int64_t now) {
  Placer placer(machine, View::kFree, caps, now, now + request.planned_seconds());
  if (!placer.select(request)) return std::nullopt;
  return placer.placement();
}

// Shortest-first is exact here only with one partition: which of the others blocks first must not matter.
std::vector<Start> plain_pass(PassFixture& world, std::int64_t now, const PassOptions& options) {
  std::vector<Waiting> waiting;
  PendingQueue::Cursor cursor(world.queue);
  while (const auto item = cursor.next())
    waiting.push_back({item->entry, world.queue.request(item->class_id)});
  std::optional<Machine> scratch;
  Planner planner(world.machine, world.running, now, scratch);
  std::vector<std::uint32_t> blocked(world.machine.layout().partitions().size());
  std::vector<Start> starts;
  std::vector<Request> reserved;
  bool by_limit = false;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const auto& [entry, request] = waiting[i];
    for (std::uint32_t task = 0; task < entry.startable; ++task) {
      auto placement = place(world.machine, request, nullptr, now);
      const std::int64_t end = now + request.planned_seconds();
      if (placement && !planner.caps().allow(*placement, now, end))
        placement = place(world.machine, request, &planner.caps(), now);
      if (!placement) {
        if (blocked[request.partition] >= options.reservations_per_partition) break;
        if (!world.machine.could_on_available(request)) break;
        // One reservation stands for all of a shape.
        if (std::find(reserved.begin(), reserved.end(), request) != reserved.end()) break;
        reserved.push_back(request);
        ++blocked[request.partition];
        planner.reserve(entry.id, request, 0);
        if (options.shortest_first && !by_limit) {
          by_limit = true;
          std::stable_sort(waiting.begin() + static_cast<std::ptrdiff_t>(i) + 1, waiting.end(),
                           [](const Waiting& a, const Waiting& b) {
                             return a.request.planned_seconds() < b.request.planned_seconds();
                           });
        }
        break;
      }
      world.machine.allocate(*placement);
      planner.started(*placement, end);
      world.running.add(++world.last_key, end, *placement);
      starts.push_back({entry.id, now, *placement});
    }
  }
  return starts;
}

// So nothing that could have started waits on, nobody is passed by who could have run, and what was reserved
// is kept.
TEST(Pass, StartsWhatAPassWithoutShortCutsStarts) {
  std::size_t started = 0;
  std::size_t left = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    PassOptions options;
    options.shortest_first = random.one_in(3);
    options.reservations_per_partition = random.one_in(3) ? random.between(1, 4) : 1;
    PassFixture world(testing::random_machine(random, 8, !options.shortest_first && random.one_in(2)));
    for (std::uint32_t i = random.up_to(8); i > 0; --i) {
      const auto placement = world.machine.place(testing::random_request(random, world.machine));
      if (!placement) continue;
      world.machine.allocate(*placement);
      world.running.add(++world.last_key, 1000 + 60 * random.up_to(20) + 1, *placement);
    }
    std::vector<Request> shapes;
    const std::uint32_t count = random.between(2, 60);
    for (EntryId id = 1; id <= count; ++id) {
      Request request = testing::random_request(random, world.machine);
      if (!shapes.empty() && random.one_in(2))
        request = shapes[random.up_to(static_cast<std::uint32_t>(shapes.size() - 1))];
      shapes.push_back(request);
      world.queue.insert({id, random.up_to(3), id, random.one_in(4) ? random.between(2, 4) : 1}, request);
    }
    // Some passes and ends before the one that is compared: the queue remembers what was blocked.
    for (int before = 0; before < 3; ++before) {
      world.pass(1000, options);
      if (world.running.size() > 0 && random.one_in(2)) world.end(world.running.by_end().begin()->first.key);
    }
    if (world.running.size() > 0) world.end(world.running.by_end().begin()->first.key);
    world.starts.clear();
    PassFixture plain = world;
    const std::vector<Start> expected = plain_pass(plain, 1000, options);
    world.pass(1000, options);
    ASSERT_EQ(world.starts, expected);
    ASSERT_TRUE(world.machine == plain.machine);
    started += expected.size();
    left += world.queue.size();
  }
  EXPECT_GT(started, 1000u);
  EXPECT_GT(left, 20000u);
}

}  // namespace
}  // namespace minke::sched
