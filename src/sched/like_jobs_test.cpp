#include "sched/like_jobs.h"

#include <gtest/gtest.h>

#include "sched/test_cluster.h"

namespace minke::sched {
namespace {

using testing::Random;

TEST(LikeJobs, KnowTheirStartsInOrder) {
  LikeJobs jobs(2, 60);
  for (const std::int64_t start : {10, 20, 20, 30}) jobs.append(static_cast<LikeJobs::JobKey>(start), start);
  EXPECT_EQ(jobs.first_after(9), 0u);
  EXPECT_EQ(jobs.first_after(10), 1u);
  EXPECT_EQ(jobs.first_after(20), 3u);
  EXPECT_EQ(jobs.start(3), 30);
  EXPECT_TRUE(jobs.is_like(2, 60, 30));
  EXPECT_FALSE(jobs.is_like(2, 60, 29));
  EXPECT_FALSE(jobs.is_like(1, 60, 30));
  EXPECT_FALSE(jobs.is_like(2, 61, 30));
}

TEST(LikeJobs, AdvanceTogether) {
  LikeJobs jobs(2, 10);
  for (const std::int64_t start : {10, 30, 40, 50}) jobs.append(static_cast<LikeJobs::JobKey>(start), start);
  jobs.pop();
  jobs.advance(0, 1, 8);
  EXPECT_EQ(jobs.first(), 22);
  EXPECT_EQ(jobs.start(1), 32);
  EXPECT_EQ(jobs.last(), 50);
}

TEST(LikeJobs, AreTheSameAsASetOfStarts) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    LikeJobs jobs(1, 1);
    std::vector<std::int64_t> starts;
    LikeJobs::JobKey next = 0;
    LikeJobs::JobKey popped = 0;
    for (int step = 0; step < 500; ++step) {
      const std::uint32_t what = random.up_to(3);
      if (what < 2 || starts.empty()) {
        const std::int64_t start = (starts.empty() ? 0 : starts.back()) + random.up_to(3);
        starts.push_back(start);
        jobs.append(next++, start);
      } else if (what == 2) {
        ASSERT_EQ(jobs.first(), starts.front());
        ASSERT_EQ(jobs.pop(), popped++);
        starts.erase(starts.begin());
      } else {
        const std::size_t last = random.up_to(static_cast<std::uint32_t>(starts.size()) - 1);
        const std::int64_t to = starts[last] - 1 - random.up_to(10);
        jobs.shift(jobs.first_after(to), last, to);
        starts[last] = to;
        std::sort(starts.begin(), starts.end());
      }
      ASSERT_EQ(jobs.empty(), starts.empty());
      if (starts.empty()) continue;
      LikeJobs copy(1, 1);
      copy.append(jobs);
      for (const std::int64_t start : starts) {
        ASSERT_EQ(copy.first(), start);
        copy.pop();
      }
      ASSERT_EQ(jobs.last(), starts.back());
    }
  }
}

}  // namespace
}  // namespace minke::sched
