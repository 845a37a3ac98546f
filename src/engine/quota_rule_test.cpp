#include "engine/quota_rule.h"

#include <gtest/gtest.h>

namespace minke::engine {
namespace {

storage::Tier tier() {
  storage::Tier tier;
  tier.space = 1000;
  tier.hard_space = 2000;
  tier.files = 10;
  return tier;
}

TEST(QuotaRule, AHardLimitCountsAtOnceAndASoftOneAfterItsGraceTime) {
  const QuotaUse within = counted_use(tier(), 1000, 10, {}, 100);
  EXPECT_EQ(quota_problem(tier(), "/scratch/ann", within, 60, 1000), "");
  const QuotaUse over = counted_use(tier(), 1001, 10, within, 100);
  EXPECT_EQ(over.space_over, 100);
  EXPECT_EQ(quota_problem(tier(), "/scratch/ann", over, 60, 159), "");
  // Counted again it is over since the same time.
  const QuotaUse still = counted_use(tier(), 1500, 10, over, 150);
  EXPECT_EQ(still.space_over, 100);
  EXPECT_TRUE(quota_problem(tier(), "/scratch/ann", still, 60, 160).starts_with("DiskQuotaExceeded: "));
  const QuotaUse beyond = counted_use(tier(), 2001, 10, {}, 100);
  EXPECT_NE(
      quota_problem(tier(), "/scratch/ann", beyond, 60, 100).find("minke storage scan --top 10 /scratch/ann"),
      std::string::npos);
  // Less again, and the grace time begins anew with the next time.
  EXPECT_EQ(counted_use(tier(), 10, 10, beyond, 200).space_over, 0);
}

TEST(QuotaRule, FilesHaveALimitOfTheirOwn) {
  const QuotaUse over = counted_use(tier(), 0, 11, {}, 5);
  EXPECT_EQ(over.files_over, 5);
  EXPECT_TRUE(quota_problem(tier(), "/p", over, 0, 5).starts_with("DiskQuotaExceeded: 11 of 10 files in /p"));
}

}  // namespace
}  // namespace minke::engine
