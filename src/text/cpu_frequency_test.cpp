#include "text/cpu_frequency.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

TEST(CpuFrequency, OneFrequencyIsTheHighestAndHasUserSpace) {
  const CpuFrequency asked = read_cpu_frequency("2000000");
  EXPECT_EQ(asked.least, std::nullopt);
  EXPECT_EQ(asked.most, 2'000'000);
  EXPECT_EQ(asked.governor, 0x8080'0000);
}

TEST(CpuFrequency, ARangeHasBothAndItsGovernor) {
  const CpuFrequency asked = read_cpu_frequency("low-HIGH:Performance");
  EXPECT_EQ(asked.least, 0x8000'0001);
  EXPECT_EQ(asked.most, 0x8000'0003);
  EXPECT_EQ(asked.governor, 0x8200'0000);
}

TEST(CpuFrequency, AGovernorAlone) {
  const CpuFrequency asked = read_cpu_frequency("OnDemand");
  EXPECT_FALSE(asked.least || asked.most);
  EXPECT_EQ(asked.governor, 0x8400'0000);
}

TEST(CpuFrequency, NothingAsked) {
  const CpuFrequency asked = read_cpu_frequency("");
  EXPECT_FALSE(asked.least || asked.most || asked.governor);
}

}  // namespace
}  // namespace minke::text
