#include "engine/embedded/steps/step_totals.h"

#include <gtest/gtest.h>

#include "model/usage.pb.h"

namespace minke::engine {
namespace {

model::Usage used(uint64_t cpu, uint64_t rss, uint64_t read, uint64_t written) {
  model::Usage usage;
  usage.set_user_microseconds(cpu - 1);
  usage.set_system_microseconds(1);
  usage.set_max_rss_kib(rss);
  usage.set_read_bytes(read);
  usage.set_write_bytes(written);
  return usage;
}

TEST(StepTotals, SeveralTasksHaveATotalAndExtremes) {
  model::Usage step;
  add_task_usage(step, used(30, 100, 5, 9), 1, "n1", true);
  add_task_usage(step, used(10, 300, 7, 0), 0, "n1", true);
  add_task_usage(step, used(20, 200, 0, 1), 2, "n2", true);
  EXPECT_EQ(step.user_microseconds() + step.system_microseconds(), 60u);
  EXPECT_EQ(step.max_rss_kib(), 300u);
  EXPECT_EQ(step.total_rss_kib(), 600u);
  EXPECT_EQ(step.read_bytes(), 12u);
  EXPECT_EQ(step.most().rss().task(), 0u);
  EXPECT_EQ(step.least().rss().value(), 100u);
  EXPECT_EQ(step.most().write().task(), 1u);
  EXPECT_EQ(step.least().read().node(), "n2");
  EXPECT_EQ(step.least().cpu().task(), 0u);
  EXPECT_EQ(step.most().cpu().value(), 30u);
}

TEST(StepTotals, OneTaskIsItsOwnExtreme) {
  model::Usage step;
  add_task_usage(step, used(30, 100, 5, 9), 0, "n1", false);
  EXPECT_FALSE(step.has_most());
  model::Usage job;
  add_step_usage(job, step);
  add_step_usage(job, step);
  EXPECT_EQ(job.max_rss_kib(), 100u);
  EXPECT_EQ(job.write_bytes(), 18u);
}

}  // namespace
}  // namespace minke::engine
