#include "view/usage_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"

namespace minke::view {
namespace {

constexpr int64_t kDay = 86400, kBegin = 1775001600;  // 2026-04-01

model::JobRecord job(const std::string& account, int64_t start, int64_t end, uint32_t cpus,
                     const std::string& gpu = {}, uint32_t gpus = 0) {
  model::JobRecord record;
  record.set_state(model::JOB_COMPLETE);
  record.set_account(account);
  record.set_user_name("ann");
  record.set_start_time(start);
  record.set_end_time(end);
  record.set_num_cpus(cpus);
  if (gpus > 0) {
    model::Gres& gres = *record.add_tres_gres();
    gres.set_name("gpu");
    gres.set_type(gpu);
    gres.set_count(gpus);
  }
  return record;
}

TEST(UsageReport, CountsTheYearOnlyAndProjectsTheLastWeeks) {
  UsageReport report(kBegin, kBegin + 73 * kDay);                      // a fifth of the year
  report.add(job("lab", kBegin - 10 * kDay, kBegin + 28 * kDay, 10));  // 10 days are of the year before
  report.add(job("lab", kBegin + 45 * kDay, kBegin + 73 * kDay, 4, "a100", 2));
  report.add(job("other", kBegin, kBegin + 73 * kDay, 1, "odd", 1));
  const auto seen = nlohmann::json::parse(report.json());
  const auto& lab = seen["accounts"][0];
  EXPECT_NEAR(lab["core_years"], (280.0 + 112) / 365, 1e-9);
  EXPECT_NEAR(lab["rgu_years"], 2 * 4.0 * 28 / 365, 1e-9);
  EXPECT_NEAR(lab["gpu_years"], 2 * 28.0 / 365, 1e-9);
  EXPECT_NEAR(lab["projected_core_years"], (280.0 + 112 + 4 * 292) / 365, 1e-9);
  EXPECT_NEAR(lab["projected_rgu_years"], 8.0 * (28 + 292) / 365, 1e-9);
  EXPECT_EQ(lab["users"][0]["user"], "ann");
  EXPECT_EQ(seen["gpus_without_rgu"], nlohmann::json::array({"odd"}));
  EXPECT_NE(report.text().find("20 % of the year"), std::string::npos);
}

TEST(UsageReport, TellsGpusOfSeveralModelsInThoseOfOne) {
  UsageReport report(kBegin, kBegin + 365 * kDay);
  report.add(job("lab", kBegin, kBegin + 365 * kDay, 12, "h100", 2));
  report.add(job("lab", kBegin, kBegin + 365 * kDay, 12, "a100", 1));
  auto seen = nlohmann::json::parse(report.json());
  EXPECT_EQ(seen["equivalent_gpu"], "h100");
  EXPECT_NEAR(seen["accounts"][0]["gpu_equivalents"], 2 + 4.0 / 12.15, 1e-9);
  EXPECT_NE(report.text().find(" h100 equiv. "), std::string::npos);
  ASSERT_TRUE(report.set_equivalent("a100"));
  seen = nlohmann::json::parse(report.json());
  EXPECT_NEAR(seen["accounts"][0]["gpu_equivalents"], 1 + 2 * 12.15 / 4, 1e-9);
  EXPECT_FALSE(report.set_equivalent("abacus"));
}

TEST(UsageReport, SetsAllocationsAgainstWhatWasUsed) {
  UsageReport report(kBegin, kBegin + 73 * kDay);
  report.add(job("lab_gpu", kBegin, kBegin + 73 * kDay, 12, "a100", 2));
  report.add(job("sub_gpu", kBegin, kBegin + 73 * kDay, 12, "a100", 1));
  report.allocation("lab_gpu", 0, 12, {"lab_gpu", "sub_gpu"});
  report.allocation("lab_cpu", 100, 0, {"lab_cpu"});
  const auto seen = nlohmann::json::parse(report.json())["allocations"];
  EXPECT_NEAR(seen[0]["rgu_years"], 12 * 73.0 / 365, 1e-9);
  EXPECT_NEAR(seen[0]["projected_rgu_years"], 12, 1e-9);
  EXPECT_EQ(seen[0]["allocated_rgu_years"], 12);
  EXPECT_EQ(seen[1]["core_years"], 0);
  EXPECT_EQ(seen[0]["allocated_gpu_equivalents"], 3);
  const std::string text = report.text();
  EXPECT_NE(text.find("12.0000    20.0 %    100.0 %          3.0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("100.0000     0.0 %      0.0 %"), std::string::npos) << text;
}

TEST(UsageReport, LeavesOutWhatWasSuspendedAndWhatNeverRan) {
  UsageReport report(kBegin, kBegin + 100 * kDay);
  auto stopped = job("lab", kBegin, kBegin + 10 * kDay, 1);
  stopped.set_suspended_seconds(5 * kDay);
  report.add(stopped);
  auto waiting = job("lab", 0, 0, 64);
  waiting.set_state(model::JOB_PENDING);
  report.add(waiting);
  EXPECT_NEAR(nlohmann::json::parse(report.json())["accounts"][0]["core_years"], 5.0 / 365, 1e-9);
}

}  // namespace
}  // namespace minke::view
