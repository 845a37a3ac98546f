#include "sched/pending_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sched/test_cluster.h"

namespace minke::sched {
namespace {

using testing::Random;

Request shape(std::uint32_t cpus) {
  Request request;
  request.cpus_per_task = cpus;
  return request;
}

// Against a plain map, through thousands of random changes.
TEST(PendingQueue, BehavesAsAnOrderedMap) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    PendingQueue queue;
    struct Known {
      PendingEntry entry;
      std::uint32_t shape = 0;
    };
    std::map<EntryId, Known> known;
    for (int step = 0; step < 600; ++step) {
      const EntryId id = random.up_to(120) * 1000003ull;
      const bool there = known.contains(id);
      switch (random.up_to(5)) {
        case 0:
        case 1:
        case 2:
          if (there) break;
          known[id] = {{id, random.up_to(5), random.up_to(20), random.between(1, 3)}, random.between(1, 4)};
          queue.insert(known[id].entry, shape(known[id].shape));
          break;
        case 3:
          EXPECT_EQ(queue.remove(id), there);
          known.erase(id);
          break;
        case 4: {
          const std::uint64_t priority = random.up_to(5);
          EXPECT_EQ(queue.set_priority(id, priority), there);
          if (there) known[id].entry.priority = priority;
          break;
        }
        default: {
          const std::uint32_t startable = random.up_to(2);
          EXPECT_EQ(queue.set_startable(id, startable), there);
          if (there) known[id].entry.startable = startable;
          if (startable == 0) known.erase(id);
          break;
        }
      }
      ASSERT_EQ(queue.size(), known.size());
    }
    std::vector<PendingEntry> expected;
    std::map<std::uint32_t, std::size_t> shapes;
    for (const auto& [id, one] : known) {
      expected.push_back(one.entry);
      ++shapes[one.shape];
      ASSERT_TRUE(queue.find(id));
      EXPECT_EQ(queue.find(id)->priority, one.entry.priority);
      EXPECT_EQ(*queue.request_of(id), shape(one.shape));
    }
    EXPECT_EQ(queue.class_count(), shapes.size());
    for (const auto& [cpus, count] : shapes) EXPECT_EQ(queue.entries_of_class(shape(cpus)), count);
    std::sort(expected.begin(), expected.end(), PendingQueue::before);
    PendingQueue::Cursor cursor(queue);
    for (const auto& entry : expected) {
      const auto item = cursor.next();
      ASSERT_TRUE(item);
      EXPECT_EQ(item->entry.id, entry.id);
      EXPECT_EQ(item->entry.startable, entry.startable);
    }
    EXPECT_FALSE(cursor.next());
  }
}

TEST(PendingQueue, TakesFromTheHeadOfAClassInOrder) {
  PendingQueue queue;
  queue.insert({1, 5, 2, 1}, shape(1));
  queue.insert({2, 5, 1, 2}, shape(1));
  queue.insert({3, 9, 3, 1}, shape(1));
  std::vector<EntryId> taken;
  const auto group = queue.class_of(1).value();
  while (queue.class_alive(group)) {
    taken.push_back(queue.head(group).id);
    queue.take_from_head(group);
  }
  EXPECT_EQ(taken, (std::vector<EntryId>{3, 2, 2, 1}));
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(queue.class_count(), 0u);
}

TEST(PendingQueue, StaysRightAfterALongQueueDrains) {
  PendingQueue queue;
  for (EntryId id = 0; id < 20000; ++id) queue.insert({id, 0, id, 1}, shape(1));
  for (EntryId id = 0; id < 20000; ++id) ASSERT_TRUE(queue.remove(id));
  EXPECT_FALSE(queue.find(7));
  queue.insert({7, 0, 0, 1}, shape(2));
  EXPECT_EQ(queue.find(7)->startable, 1u);
  EXPECT_EQ(queue.size(), 1u);
}

TEST(RequestHash, EqualRequestsAreOneClass) {
  Random random(3);
  const Machine machine = testing::random_machine(random, 6, true);
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random first(seed);
    Random second(seed);
    const Request a = testing::random_request(first, machine);
    const Request b = testing::random_request(second, machine);
    ASSERT_EQ(a, b);
    ASSERT_EQ(RequestHash{}(a), RequestHash{}(b));
  }
}

}  // namespace
}  // namespace minke::sched
