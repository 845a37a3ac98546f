#include "view/use_now.h"

#include <gtest/gtest.h>

#include "api/measurements.pb.h"

namespace minke::view {
namespace {

api::JobMeasurement job_of(const std::string& user, uint32_t cpus, double cores) {
  api::JobMeasurement one;
  one.mutable_job()->set_user_name(user);
  one.mutable_job()->set_num_cpus(cpus);
  one.mutable_job()->set_memory_mib(uint64_t{cpus} * 8192);
  one.set_cores(cores);
  if (cores > 0) one.mutable_now()->set_memory_kib(1 << 20);
  return one;
}

TEST(UseNow, IsSummedByPersonAndJudgedByWhatWasMeasured) {
  UseTally tally;
  tally.add(job_of("ada", 4, 1));
  tally.add(job_of("ada", 4, 0));  // not measured yet
  tally.add(job_of("bob", 16, 16));
  api::JobMeasurement training = job_of("eve", 2, 2);
  training.mutable_job()->add_tres_gres()->set_name("gpu");
  training.mutable_job()->mutable_tres_gres(0)->set_count(2);
  for (int i = 0; i < 2; ++i) {
    training.mutable_now()->add_gpus()->set_utilization(10);
    training.mutable_now()->mutable_gpus(i)->set_milliwatts(60000);
  }
  tally.add(training);
  const auto rows = tally.rows();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].user, "bob");
  EXPECT_EQ(rows[1].use.jobs, 2u);
  EXPECT_EQ(rows[1].use.measured_jobs, 1u);
  EXPECT_EQ(rows[1].use.cores, 8);
  EXPECT_EQ(cores_verdict(rows[1].use.waste()), "critical");
  EXPECT_EQ(memory_verdict(rows[1].use.waste()), "critical");  // 1 of 32 GiB, beside 4 cores
  EXPECT_EQ(cores_verdict(rows[0].use.waste()), "");
  EXPECT_DOUBLE_EQ(rows[2].use.gpus_used, 0.2);
  EXPECT_DOUBLE_EQ(rows[2].use.watts, 120);
  EXPECT_EQ(gpus_verdict(rows[2].use.waste()), "warning");
  EXPECT_EQ(tally.all().jobs, 4u);
}

}  // namespace
}  // namespace minke::view
