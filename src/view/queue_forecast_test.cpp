#include "view/queue_forecast.h"

#include <gtest/gtest.h>

#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "view/test_records.h"

namespace minke::view {
namespace {

model::JobRecord job_of(model::JobState state, int64_t start, uint32_t limit_minutes, uint32_t cpus) {
  model::JobRecord job = test::job(1, "x", state);
  job.set_start_time(start);
  job.set_time_limit_minutes(limit_minutes);
  job.set_num_cpus(cpus);
  return job;
}

TEST(QueueForecast, GoesOnFromWhatRuns) {
  const int64_t now = test::kMidnight;
  QueueForecast forecast(now);
  forecast.add(job_of(model::JOB_RUNNING, now - 600, 20, 4), 1);
  forecast.add(job_of(model::JOB_PENDING, now + 600, 10, 2), 0);
  forecast.add(job_of(model::JOB_PENDING, 0, 10, 64), 0);
  forecast.add(job_of(model::JOB_COMPLETE, now - 600, 10, 64), 0);
  EXPECT_EQ(forecast.running(), 1u);
  EXPECT_EQ(forecast.forecast(), 1u);
  EXPECT_EQ(forecast.unknown(), 1u);
  EXPECT_EQ(forecast.last_start(), now + 600);
  EXPECT_EQ(forecast.steps(now + 3600),
            (std::vector<HeldOverTime::Step>{
                {now, 4, 1}, {now + 600, 2, 0}, {now + 1200, 0, 0}, {now + 3600, 0, 0}}));
}

TEST(QueueForecast, WithoutALimitNothingIsGivenBack) {
  QueueForecast forecast(test::kMidnight);
  forecast.add(job_of(model::JOB_RUNNING, test::kMidnight - 600, UINT32_MAX, 3), 0);
  EXPECT_EQ(forecast.steps(test::kMidnight + 86400 * 365).back().cpus, 3);
}

}  // namespace
}  // namespace minke::view
