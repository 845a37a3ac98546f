#include "engine/slurm/step_use.h"

#include <gtest/gtest.h>

namespace minke::engine::slurm {
namespace {

TEST(StepUse, ReadsALine) {
  const auto use = step_use_of(
      "1014.batch|1|cpu=1-00:00:05,energy=0,fs/disk=32982,mem=5074944,pages=1,vmem=8585216|energy=0,fs/"
      "disk=4096");
  ASSERT_TRUE(use);
  EXPECT_EQ(use->job_id, 1014u);
  EXPECT_EQ(use->step, "batch");
  EXPECT_EQ(use->cpu_milliseconds, 86405'000u);
  EXPECT_EQ(use->memory_kib, 4956u);
  EXPECT_EQ(use->read_kib, 32u);
  EXPECT_EQ(use->write_kib, 4u);
}

TEST(StepUse, PassesOverWhatTellsNothing) {
  for (const char* line :
       {"", "1014.batch", "1014.batch|1||", "1014|1|cpu=0|x", "x.0|1|cpu=0|", "1.0|1|cpu=0|a|b"})
    EXPECT_FALSE(step_use_of(line)) << line;
  EXPECT_EQ(step_use_of("1.0|1|mem=,cpu=,=,fs/disk=-1|")->memory_kib, 0u);
}

}  // namespace
}  // namespace minke::engine::slurm
