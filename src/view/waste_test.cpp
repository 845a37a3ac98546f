#include "view/waste.h"

#include <gtest/gtest.h>

#include "api/accounting.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "view/footprint.h"
#include "view/wait_times.h"

namespace minke::view {
namespace {

constexpr int64_t kNow = 1'800'000'000;

// Four cores and 8 GiB for an hour.
api::AccountedJob ended_job(const std::string& user, double busy_cores) {
  api::AccountedJob one;
  model::JobRecord& job = *one.mutable_job();
  job.set_job_id(7);
  job.set_user_name(user);
  job.set_account("def-a");
  job.set_state(model::JOB_COMPLETE);
  job.set_eligible_time(kNow - 4000);
  job.set_start_time(kNow - 3600);
  job.set_end_time(kNow);
  job.set_num_cpus(4);
  job.set_memory_mib(8192);
  job.set_time_limit_minutes(120);
  job.mutable_usage()->set_user_microseconds(static_cast<uint64_t>(busy_cores * 3600e6));
  job.mutable_usage()->set_max_rss_kib(4 << 20);
  return one;
}

TEST(Waste, IsWhatSeffCallsUnused) {
  WasteTally tally(kNow - 86400, kNow, {});
  tally.add(ended_job("alice", 1));
  tally.add(ended_job("bob", 4));
  tally.add(ended_job("alice", 3));
  api::AccountedJob old = ended_job("bob", 0), waiting = ended_job("bob", 0);
  old.mutable_job()->set_end_time(kNow - 90000);
  old.mutable_job()->set_start_time(kNow - 91000);
  waiting.mutable_job()->set_state(model::JOB_PENDING);
  tally.add(old);
  tally.add(waiting);
  const auto rows = tally.rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].user, "alice");
  EXPECT_DOUBLE_EQ(rows[0].waste.cores, 8);
  EXPECT_DOUBLE_EQ(rows[0].waste.cores_used, 4);
  EXPECT_DOUBLE_EQ(rows[0].waste.memory_used, 8);
  EXPECT_EQ(cores_verdict(rows[0].waste), "critical");
  EXPECT_EQ(cores_verdict(rows[1].waste), "");
  EXPECT_EQ(tally.all().jobs, 3U);
  ASSERT_EQ(tally.worst().size(), 2U);  // bob's wasted nothing
  EXPECT_DOUBLE_EQ(tally.worst()[0].waste.cores_used, 1);
}

TEST(Waste, OfGpusIsOfThoseThatWereMeasured) {
  api::AccountedJob one = ended_job("alice", 0.1);
  model::Gres& gres = *one.mutable_job()->add_tres_gres();
  gres.set_name("gpu");
  gres.set_count(2);
  WasteTally tally(0, kNow, {});
  tally.add(one);
  EXPECT_EQ(gpus_verdict(tally.all()), "");
  EXPECT_EQ(cores_verdict(tally.all()), "");
  one.mutable_job()->mutable_usage()->mutable_gpus()->set_count(2);
  one.mutable_job()->mutable_usage()->mutable_gpus()->set_utilization(30);  // of both together
  tally.add(one);
  EXPECT_DOUBLE_EQ(tally.all().gpus, 4);
  EXPECT_DOUBLE_EQ(tally.all().gpus_measured, 2);
  EXPECT_DOUBLE_EQ(tally.all().gpus_used, 0.3);
  EXPECT_EQ(gpus_verdict(tally.all()), "warning");
}

TEST(Footprint, FollowsTheConstants) {
  clusters::Costs costs;
  costs.core_hour = 2;
  costs.kwh = 10;
  costs.cooling = 0.5;
  costs.kg_co2_per_mwh = 100;
  api::AccountedJob one = ended_job("alice", 1);
  one.mutable_job()->mutable_usage()->set_energy_joules(7'200'000);
  const Footprint print = footprint_of(one, costs, kNow);
  EXPECT_DOUBLE_EQ(print.kwh, 2);
  EXPECT_DOUBLE_EQ(print.core_cost, 8);
  EXPECT_DOUBLE_EQ(print.cost(costs), 8 + 30);
  EXPECT_DOUBLE_EQ(print.kg_co2(costs), 0.2);
  one.mutable_job()->set_state(model::JOB_PENDING);
  EXPECT_EQ(footprint_of(one, costs, kNow).jobs, 0U);
}

TEST(WaitTimes, AreByKind) {
  WaitTally tally(kNow - 86400);
  api::AccountedJob one = ended_job("alice", 1);
  one.mutable_job()->set_partition("main");
  tally.add(one.job());
  one.mutable_job()->set_eligible_time(kNow - 3600);
  one.mutable_job()->set_state(model::JOB_TIMEOUT);
  tally.add(one.job());
  one.mutable_job()->set_time_limit_minutes(1440);
  tally.add(one.job());
  one.mutable_job()->set_start_time(kNow - 100000);
  tally.add(one.job());
  const auto rows = tally.rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].limit_minutes, 180U);
  EXPECT_EQ(rows[0].jobs, 2U);
  EXPECT_DOUBLE_EQ(rows[0].median, 200);
  EXPECT_DOUBLE_EQ(rows[0].most, 400);
  EXPECT_EQ(rows[0].completed, 1U);
  EXPECT_EQ(rows[0].timed_out, 1U);
  EXPECT_DOUBLE_EQ(rows[0].run_share, 0.5);
  EXPECT_EQ(rows[1].limit_minutes, 1440U);
}

}  // namespace
}  // namespace minke::view
