#include "portal/queue_difference.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/job_record.pb.h"

namespace minke::portal {
namespace {

constexpr int64_t kCame = 1'000'000;

model::JobRecord job(uint32_t id, int64_t submitted) {
  model::JobRecord one;
  one.set_job_id(id);
  one.set_state(model::JOB_PENDING);
  one.set_submit_time(submitted);
  return one;
}

struct Queue {
  std::vector<model::JobRecord> jobs;

  std::vector<uint32_t> look(QueueDifference& difference, size_t* count = nullptr) const {
    std::vector<const model::JobRecord*> all;
    for (const model::JobRecord& one : jobs) all.push_back(&one);
    const QueueDifference::Changed changed = difference.look(all, kCame);
    if (count != nullptr) *count = changed.count;
    std::vector<uint32_t> ids;
    for (const model::JobRecord* one : changed.named) ids.push_back(one->job_id());
    return ids;
  }
};

TEST(QueueDifference, TheFirstLookTellsWhatHappenedSinceSomebodyCame) {
  Queue queue{
      {job(1, kCame - 60), job(2, kCame), job(3, kCame - 60), job(4, kCame - 60), job(5, kCame - 60)}};
  queue.jobs[2].set_state(model::JOB_RUNNING);
  queue.jobs[2].set_start_time(kCame + 1);
  queue.jobs[3].set_state(model::JOB_COMPLETE);
  queue.jobs[3].set_start_time(kCame - 30);
  queue.jobs[3].set_end_time(kCame + 2);
  queue.jobs[4].set_start_time(kCame + 3600);  // a forecast: nothing has happened
  QueueDifference difference;
  EXPECT_EQ(queue.look(difference), (std::vector<uint32_t>{2, 3, 4}));
  EXPECT_TRUE(queue.look(difference).empty());
}

TEST(QueueDifference, LaterLooksTellWhatPagesShowAnew) {
  Queue queue{{job(1, 5), job(2, 5), job(3, 5)}};
  QueueDifference difference;
  EXPECT_TRUE(queue.look(difference).empty());
  queue.jobs[0].set_state(model::JOB_RUNNING);
  queue.jobs[1].set_priority(7);
  queue.jobs[2].set_start_time(99);  // when it may start is no change
  queue.jobs.push_back(job(4, 5));
  EXPECT_EQ(queue.look(difference), (std::vector<uint32_t>{1, 2, 4}));
}

TEST(QueueDifference, CountsThoseThatAreGoneAndNamesSoManyOnly) {
  Queue queue;
  for (uint32_t id = 1; id <= 300; ++id) queue.jobs.push_back(job(id, kCame));
  QueueDifference difference;
  size_t count = 0;
  EXPECT_EQ(queue.look(difference, &count).size(), QueueDifference::kMostNamed);
  EXPECT_EQ(count, 300u);
  queue.jobs.resize(290);
  EXPECT_TRUE(queue.look(difference, &count).empty());
  EXPECT_EQ(count, 10u);
}

}  // namespace
}  // namespace minke::portal
