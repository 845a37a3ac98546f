#include "model/error.h"

#include <gtest/gtest.h>

namespace minke::model {
namespace {

TEST(SlurmErrorText, IsSlurmsOwn) {
  EXPECT_EQ(slurm_error_text(2000), "Invalid partition name specified");
  EXPECT_EQ(slurm_error_text(2017), "Invalid job id specified");
  EXPECT_EQ(slurm_error_text(kInsufficientGres), "Insufficient GRES available in allocation");
}

TEST(SlurmErrorText, IsEmptyForNumbersThatSlurmDoesNotHave) {
  for (const int code : {-1, 0, 1999, 2001, 2135, 9999}) EXPECT_EQ(slurm_error_text(code), "") << code;
}

}  // namespace
}  // namespace minke::model
