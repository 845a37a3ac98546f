// Conservative backfill, compared with a direct implementation, and its promises.
#include "sched/conservative.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sched/test_cluster.h"

namespace minke::sched {
namespace {

using testing::Random;

// Free processors second by second.
class SlowAvailability {
 public:
  explicit SlowAvailability(std::int32_t processors) : free_(100000, processors) {}
  std::int32_t free_at(std::int64_t time) const { return free_.at(static_cast<std::size_t>(time)); }
  void add(std::int64_t begin, std::int64_t end, std::int32_t processors) {
    for (std::int64_t t = begin; t < end; ++t) free_.at(static_cast<std::size_t>(t)) += processors;
  }
  std::int64_t earliest(std::int64_t from, std::int32_t processors, std::int64_t seconds) const {
    for (std::int64_t start = from;;) {
      std::int64_t t = start;
      while (t < start + seconds && free_at(t) >= processors) ++t;
      if (t == start + seconds) return start;
      start = t + 1;
    }
  }

 private:
  std::vector<std::int32_t> free_;
};

TEST(Availability, IsTheSameAsSecondBySecond) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto processors = static_cast<std::int32_t>(random.between(1, 20));
    Availability fast(processors);
    SlowAvailability slow(processors);
    std::int64_t now = 0;
    for (int step = 0; step < 400; ++step) {
      now += random.up_to(2);
      fast.forget_before(now);
      const auto width = static_cast<std::int32_t>(random.between(1, static_cast<std::uint32_t>(processors)));
      const std::int64_t seconds = random.between(1, 30);
      const std::int64_t start = fast.earliest(now, width, seconds);
      ASSERT_EQ(start, slow.earliest(now, width, seconds));
      const bool take = random.one_in(2);
      const std::int64_t begin = take ? start : now + random.up_to(300);
      const std::int32_t change = take ? -width : static_cast<std::int32_t>(random.up_to(1));
      fast.add(begin, begin + seconds, change);
      slow.add(begin, begin + seconds, change);
      const std::int64_t at = now + random.up_to(400);
      ASSERT_EQ(fast.free_at(at), slow.free_at(at));
      std::int32_t least = slow.free_at(at);
      std::int32_t most = least;
      for (std::int64_t t = at; t < at + seconds; ++t) {
        least = std::min(least, slow.free_at(t));
        most = std::max(most, slow.free_at(t));
      }
      const auto range = fast.range(at, at + seconds);
      ASSERT_EQ(range.least, least);
      ASSERT_EQ(range.most, most);
      std::int64_t since = at + seconds;
      while (since > now && slow.free_at(since - 1) >= width) --since;
      ASSERT_EQ(fast.free_since(at + seconds, width, now), since);
      // All windows that have something in common with [at, at + seconds).
      std::int64_t from = at;
      std::int64_t until = at;
      std::int64_t longest = 0;
      for (std::int64_t t = at; t < at + seconds; ++t) {
        if (slow.free_at(t) < width) continue;
        std::int64_t begun = t;
        while (begun > now && slow.free_at(begun - 1) >= width) --begun;
        while (t < 5000 && slow.free_at(t) >= width) ++t;
        if (longest == 0) from = begun;
        until = t;
        longest = std::max(longest, t - begun);
      }
      const auto room = fast.room(at, at + seconds, width, now);
      ASSERT_EQ(room.longest > 0, longest > 0);
      if (longest == 0) continue;
      ASSERT_EQ(room.from, from);
      ASSERT_EQ(std::min<std::int64_t>(room.until, 5000), until);
      if (room.until < 5000) {
        ASSERT_EQ(room.longest, longest);
      }
    }
    EXPECT_GT(fast.steps(), 1u);
  }
}

struct Job {
  std::int64_t submit = 0;
  std::int32_t processors = 0;
  std::int64_t runs = 0;
  std::int64_t asks = 0;
};

std::vector<Job> random_jobs(Random& random, std::int32_t processors, bool exact) {
  std::vector<Job> jobs;
  std::int64_t now = 0;
  const std::uint32_t count = random.between(10, 150);
  const std::uint32_t longest = random.between(3, 200);
  const std::uint32_t pause = random.up_to(longest / 2);
  const std::uint32_t most_alike = random.one_in(3) ? 60 : 20;
  std::vector<Job> shapes;  // where there are only a few
  for (std::uint32_t i = random.one_in(2) ? random.between(1, 4) : 0; i > 0; --i)
    shapes.push_back({0, static_cast<std::int32_t>(random.between(1, static_cast<std::uint32_t>(processors))),
                      0, random.between(1, longest)});
  while (jobs.size() < count) {
    now += random.up_to(pause);
    Job job{now, static_cast<std::int32_t>(random.between(1, static_cast<std::uint32_t>(processors))), 0,
            random.between(1, longest)};
    if (random.one_in(2)) job.processors = std::min(job.processors, 2);
    if (!shapes.empty()) {
      const Job& shape = shapes[random.up_to(static_cast<std::uint32_t>(shapes.size()) - 1)];
      job.processors = shape.processors;
      job.asks = shape.asks;
    }
    const std::uint32_t alike = random.one_in(4) ? random.between(1, most_alike) : 1;  // bursts of like jobs
    for (std::uint32_t i = 0; i < alike && jobs.size() < count; ++i) {
      job.runs =
          exact || random.one_in(3) ? job.asks : random.between(1, static_cast<std::uint32_t>(job.asks));
      jobs.push_back(job);
    }
  }
  return jobs;
}

struct Outcome {
  std::vector<std::int64_t> promised;
  std::vector<std::int64_t> starts;
};

// By the book: at each end, every job that has not started is placed again.
Outcome replay_slowly(const std::vector<Job>& jobs, std::int32_t processors) {
  SlowAvailability free(processors);
  std::vector<std::int64_t> start(jobs.size());
  std::vector<std::int64_t> promised;
  std::vector<std::size_t> live;
  std::size_t next = 0;
  while (next < jobs.size() || !live.empty()) {
    const auto key = [&](std::size_t job) {
      return std::tuple(start[job] + jobs[job].runs, start[job], job);
    };
    const auto end = std::min_element(live.begin(), live.end(),
                                      [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    if (next < jobs.size() && (end == live.end() || jobs[next].submit <= start[*end] + jobs[*end].runs)) {
      const Job& job = jobs[next];
      start[next] = free.earliest(job.submit, job.processors, job.asks);
      free.add(start[next], start[next] + job.asks, -job.processors);
      promised.push_back(start[next]);
      live.push_back(next++);
      continue;
    }
    const std::size_t ended = *end;
    const std::int64_t now = start[ended] + jobs[ended].runs;
    live.erase(end);
    free.add(now, start[ended] + jobs[ended].asks, jobs[ended].processors);
    for (const std::size_t other : live) {
      if (start[other] <= now) continue;
      const Job& job = jobs[other];
      free.add(start[other], start[other] + job.asks, job.processors);
      start[other] = free.earliest(now, job.processors, job.asks);
      free.add(start[other], start[other] + job.asks, -job.processors);
    }
  }
  return {promised, start};
}

Outcome replay_fast(const std::vector<Job>& jobs, std::int32_t processors) {
  ConservativePlan plan(processors);
  Outcome outcome{{}, std::vector<std::int64_t>(jobs.size())};
  std::map<std::tuple<std::int64_t, std::int64_t, std::uint32_t>, std::uint32_t> ends;
  std::uint32_t next = 0;
  while (next < jobs.size() || plan.waiting() > 0 || !ends.empty()) {
    std::int64_t now = next < jobs.size() ? jobs[next].submit : Availability::kEnd;
    if (!ends.empty()) now = std::min(now, std::get<0>(ends.begin()->first));
    if (plan.waiting() > 0 && plan.next_start() <= now) {
      const auto started = plan.take_started();
      outcome.starts[started.job] = started.time;
      ends[{started.time + jobs[started.job].runs, started.time, started.job}] = started.job;
    } else if (next < jobs.size() && jobs[next].submit == now) {
      outcome.promised.push_back(plan.submit(next, jobs[next].processors, jobs[next].asks, now));
      ++next;
    } else {
      const Job& job = jobs[ends.begin()->second];
      const std::int64_t start = std::get<1>(ends.begin()->first);
      ends.erase(ends.begin());
      plan.end(job.processors, start + job.asks, now);
    }
  }
  return outcome;
}

TEST(ConservativePlan, IsTheSameAsPlacingAllAgain) {
  std::uint64_t moved = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto processors = static_cast<std::int32_t>(random.between(1, 24));
    const auto jobs = random_jobs(random, processors, false);
    const Outcome slow = replay_slowly(jobs, processors);
    const Outcome fast = replay_fast(jobs, processors);
    ASSERT_EQ(fast.promised, slow.promised);
    ASSERT_EQ(fast.starts, slow.starts);
    for (std::size_t i = 0; i < jobs.size(); ++i) moved += fast.starts[i] != fast.promised[i];
  }
  EXPECT_GT(moved, 1000u);
}

// Each begins when the one before it ends.
TEST(ConservativePlan, WhatStandsInARowSlidesTogether) {
  ConservativePlan plan(10);
  EXPECT_EQ(plan.submit(0, 10, 100, 0), 0);
  plan.take_started();
  for (std::uint32_t job = 1; job <= 3; ++job) EXPECT_EQ(plan.submit(job, 8, 50, 0), 50 + 50 * job);
  EXPECT_EQ(plan.submit(4, 2, 120, 0), 100);  // beside the first two, until 220
  EXPECT_EQ(plan.submit(5, 10, 20, 0), 250);
  for (std::uint32_t job = 6; job <= 8; ++job) EXPECT_EQ(plan.submit(job, 8, 50, 0), 270 + 50 * (job - 6));
  plan.end(10, 100, 60);
  std::vector<std::int64_t> starts;
  while (plan.waiting() > 0) starts.push_back(plan.take_started().time);
  EXPECT_EQ(starts, (std::vector<std::int64_t>{60, 60, 110, 160, 210, 230, 280, 330}));
  EXPECT_EQ(plan.moves(), 8u);
}

TEST(ConservativePlan, NobodyStartsLaterThanPromisedNorIsAnythingOverCommitted) {
  for (std::uint64_t seed = 1000; seed < 1300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto processors = static_cast<std::int32_t>(random.between(1, 40));
    const bool exact = random.one_in(2);
    const auto jobs = random_jobs(random, processors, exact);
    const Outcome outcome = replay_fast(jobs, processors);
    std::map<std::int64_t, std::int32_t> change;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      ASSERT_LE(outcome.starts[i], outcome.promised[i]);
      if (exact) {
        ASSERT_EQ(outcome.starts[i], outcome.promised[i]);
      }
      ASSERT_GE(outcome.starts[i], jobs[i].submit);
      change[outcome.starts[i]] += jobs[i].processors;
      change[outcome.starts[i] + jobs[i].runs] -= jobs[i].processors;
    }
    std::int32_t used = 0;
    for (const auto& [time, difference] : change) ASSERT_LE(used += difference, processors);
  }
}

}  // namespace
}  // namespace minke::sched
