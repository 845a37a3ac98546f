#include "cli/progress.h"

#include <gtest/gtest.h>

#include "storage/words.h"

namespace minke::cli {
namespace {

TEST(ProgressText, TellsAmountRateAndTheRest) {
  const ProgressText jobs(storage::number_text, " jobs");
  EXPECT_EQ(jobs.of(12000, 30000, 3), "12,000 of 30,000 jobs (40 %), 4,000 jobs/s, 0:05 left");
  EXPECT_EQ(jobs.of(30000, 30000, 3), "30,000 of 30,000 jobs (100 %), 10,000 jobs/s");
}

TEST(ProgressText, LeavesOutWhatCannotBeTold) {
  const ProgressText jobs(storage::number_text, " jobs");
  EXPECT_EQ(jobs.of(0, 30000, 20), "0 of 30,000 jobs (0 %)");
  EXPECT_EQ(jobs.of(100, 30000, 0.5), "100 of 30,000 jobs (0 %)");
  EXPECT_EQ(jobs.of(500, 0, 2), "500 jobs, 250 jobs/s");
  EXPECT_EQ(jobs.of(40000, 30000, 2),
            "40,000 of 30,000 jobs (100 %), 20,000 jobs/s");  // more than was expected
  EXPECT_EQ(jobs.of(1, 10, 20), "1 of 10 jobs (10 %), 3:00 left");
  EXPECT_EQ(jobs.of(1, 1'000'000'000, 20), "1 of 1,000,000,000 jobs (0 %)");
}

}  // namespace
}  // namespace minke::cli
