#include "engine/slurm/token.h"

#include <gtest/gtest.h>

namespace minke::engine::slurm {
namespace {

TEST(SlurmToken, SaysWhatIsWrongWithIt) {
  // {"exp":100}
  const std::string token = "e30.eyJleHAiOjEwMH0.c2VhbA";
  EXPECT_NE(complaint_of(token, 100).find("has run out (1970-01-01"), std::string::npos)
      << complaint_of(token, 100);
  EXPECT_NE(complaint_of(token, 99).find("does not take the token"), std::string::npos);
  EXPECT_NE(complaint_of("e30.e30.c2VhbA", 100).find("does not take the token"), std::string::npos);
  EXPECT_EQ(complaint_of("", 100), "");
  for (const char* bad : {"garbage", "..", "a.b", "e30.W10.x", "e30.!!.x", "e30.eyJleHAiOiJ4In0"})
    EXPECT_TRUE(complaint_of(bad, 100).starts_with("what SLURM_JWT has is no token")) << bad;
}

}  // namespace
}  // namespace minke::engine::slurm
