#include "sched/outlook.h"

#include <gtest/gtest.h>

#include <map>

#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"

namespace minke::sched {
namespace {

using namespace model;

constexpr std::int64_t kNow = 1000;

// Every job that waits starts as soon as it may, and runs for 100 s.
class Jobs final : public OutlookJobs {
 public:
  OutlookJob& add(std::uint32_t id, StateReason reason = WAIT_NO_REASON) {
    OutlookJob& job = jobs_[id];
    job.id = id;
    job.priority = 1;
    job.reason = reason;
    return job;
  }
  Dependency& wait_for(std::uint32_t id, std::uint32_t other, DependencyType type = AFTER_ANY) {
    Dependency& term = terms_[id].emplace_back();
    term.set_type(type);
    term.set_job_id(other);
    return term;
  }
  void end_at(std::uint32_t id, std::int64_t time) { ends_[id] = time; }

  std::int64_t now() const override { return kNow; }
  std::optional<OutlookJob> job(std::uint32_t id) const override {
    ++asked;
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return std::nullopt;
    return found->second;
  }
  std::optional<OutlookJob> task(std::uint32_t array, std::uint32_t index) const override {
    return job(array + index);
  }
  std::optional<std::vector<std::uint32_t>> array(std::uint32_t id) const override {
    std::vector<std::uint32_t> ids;
    for (const auto& [one, job] : jobs_)
      if (job.array_job_id == id) ids.push_back(one);
    if (ids.empty()) return std::nullopt;
    return ids;
  }
  std::int64_t begin_time(std::uint32_t) const override { return 0; }
  std::vector<Dependency> dependencies(std::uint32_t id) const override {
    const auto found = terms_.find(id);
    return found == terms_.end() ? std::vector<Dependency>() : found->second;
  }
  std::optional<std::int64_t> expected_end(std::uint32_t id) const override {
    const auto found = ends_.find(id);
    if (found == ends_.end()) return std::nullopt;
    return found->second;
  }
  std::int64_t expected_seconds(std::uint32_t) const override { return 100; }
  std::optional<ExpectedStart> forecast(std::uint32_t id) const override { return forecast_later(id, kNow); }
  std::optional<ExpectedStart> forecast_later(std::uint32_t id, std::int64_t from) const override {
    ExpectedStart start;
    start.entry = id;
    start.start = from;
    return start;
  }

  mutable std::uint64_t asked = 0;

 private:
  std::map<std::uint32_t, OutlookJob> jobs_;
  std::map<std::uint32_t, std::vector<Dependency>> terms_;
  std::map<std::uint32_t, std::int64_t> ends_;
};

std::optional<std::int64_t> start_of(const Jobs& jobs, std::uint32_t id) {
  const auto start = Outlook(jobs).start(*jobs.job(id));
  if (!start) return std::nullopt;
  return start->start;
}

TEST(Outlook, AJobStartsWhenWhatItWaitsForHasEnded) {
  Jobs jobs;
  jobs.add(1).holds_nodes = true;
  jobs.end_at(1, kNow + 50);
  jobs.add(2).queued = true;
  jobs.add(3, WAIT_DEPENDENCY);
  jobs.wait_for(3, 1);
  jobs.wait_for(3, 2);
  EXPECT_EQ(start_of(jobs, 3), kNow + 100);
  jobs.add(4, WAIT_DEPENDENCY).any_dependency = true;
  jobs.wait_for(4, 1);
  jobs.wait_for(4, 2);
  EXPECT_EQ(start_of(jobs, 4), kNow + 50);
  jobs.add(5, WAIT_DEPENDENCY);
  jobs.wait_for(5, 2, AFTER).set_delay_minutes(2);
  EXPECT_EQ(start_of(jobs, 5), kNow + 120);
}

TEST(Outlook, ATimeAndAThrottleAreWaitedFor) {
  Jobs jobs;
  jobs.add(1, WAIT_TIME).eligible_time = kNow + 7;
  EXPECT_EQ(start_of(jobs, 1), kNow + 7);
  OutlookJob& array = jobs.add(10, WAIT_ARRAY_TASK_LIMIT);
  array.array_job_id = 10;
  array.several_tasks = true;
  for (const std::uint32_t task : {11u, 12u}) {
    OutlookJob& one = jobs.add(task);
    one.array_job_id = 10;
    one.holds_nodes = true;
    jobs.end_at(task, kNow + task);
  }
  EXPECT_EQ(start_of(jobs, 10), kNow + 11);
  EXPECT_EQ(Outlook(jobs).end(*jobs.job(10)), std::nullopt);  // of its last task
}

TEST(Outlook, NobodyKnowsOfWhatIsHeldOrNotThere) {
  Jobs jobs;
  jobs.add(1, WAIT_HELD_USER).priority = 0;
  EXPECT_EQ(start_of(jobs, 1), std::nullopt);
  jobs.add(2, WAIT_DEPENDENCY);
  jobs.wait_for(2, 99);
  EXPECT_EQ(start_of(jobs, 2), std::nullopt);
  jobs.add(3, WAIT_DEPENDENCY);
  jobs.wait_for(3, 1);
  EXPECT_EQ(start_of(jobs, 3), std::nullopt);
}

// Following a chain of a million jobs to its end would overflow the stack, and a cycle has no end.
TEST(Outlook, LongChainsAndCirclesAreNotFollowed) {
  Jobs jobs;
  constexpr std::uint32_t kLength = 1000000;
  jobs.add(1, WAIT_HELD_USER).priority = 0;
  for (std::uint32_t id = 2; id <= kLength; ++id) {
    jobs.add(id, WAIT_DEPENDENCY);
    jobs.wait_for(id, id - 1);
  }
  EXPECT_EQ(start_of(jobs, kLength), std::nullopt);
  Jobs circle;
  for (const std::uint32_t id : {1u, 2u}) {
    circle.add(id, WAIT_DEPENDENCY);
    circle.wait_for(id, 3 - id);
  }
  EXPECT_EQ(start_of(circle, 1), std::nullopt);
}

// One is enough for each of them, of the ten in the layer below; none of the lowest ever starts.
TEST(Outlook, ManyWaysToNowhereCostNoMoreThanOne) {
  Jobs jobs;
  constexpr std::uint32_t kWide = 10, kLayers = 10;
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
    for (std::uint32_t i = 0; i < kWide; ++i) {
      const std::uint32_t id = layer * kWide + i + 1;
      OutlookJob& job = jobs.add(id, layer == 0 ? WAIT_HELD_USER : WAIT_DEPENDENCY);
      job.any_dependency = true;
      if (layer == 0) job.priority = 0;
      for (std::uint32_t below = 0; layer > 0 && below < kWide; ++below)
        jobs.wait_for(id, (layer - 1) * kWide + below + 1);
    }
  }
  EXPECT_EQ(start_of(jobs, kLayers * kWide), std::nullopt);
  EXPECT_LT(jobs.asked, 500u);
}

}  // namespace
}  // namespace minke::sched
