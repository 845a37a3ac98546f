#include "base/version.h"

#include <gtest/gtest.h>

namespace minke {
namespace {

TEST(Version, ReleasesThatAreSpoken) {
  EXPECT_EQ(parse_release("22.05"), kSlurm22);
  EXPECT_EQ(parse_release("24.11.3"), kSlurm24);
  EXPECT_EQ(parse_release("26.05.5"), kSlurm26);
  for (const char* other : {"", "22", "22.5", "23.02", "24.115", "x"})
    EXPECT_EQ(parse_release(other), std::nullopt);
  EXPECT_EQ(slurm_version(kSlurm24), "24.11.5");
}

TEST(Version, TheNearestReleaseOfAnotherCluster) {
  EXPECT_EQ(nearest_release("22.05.8"), kSlurm22);
  EXPECT_EQ(nearest_release("24.05.1"), kSlurm22);
  EXPECT_EQ(nearest_release("25.11.0"), kSlurm24);
  EXPECT_EQ(nearest_release("26.05.5"), kSlurm26);
  EXPECT_EQ(nearest_release("27.11"), kSlurm26);
  for (const char* other : {"", "20.11.9"}) EXPECT_EQ(nearest_release(other), kSlurm22);
}

}  // namespace
}  // namespace minke
