#include "node/process_usage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <vector>

namespace minke::node {
namespace {

TEST(ProcessUsage, TellsWhatThisProcessUses) {
  const ProcessUsage before = read_process_usage(::getpid());
  EXPECT_GT(before.rss_kib, 500u);
  EXPECT_GE(before.virtual_kib, before.rss_kib);
  const std::vector<char> memory(64 << 20, 'x');
  std::ofstream("/dev/null").write(memory.data(), 1 << 20);
  volatile uint64_t sum = 0;
  const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 16;  // of its own time
  while (std::clock() < end) sum = sum + 1;
  const ProcessUsage after = read_process_usage(::getpid());
  EXPECT_GE(after.rss_kib, before.rss_kib + 60'000);
  EXPECT_GT(after.user_microseconds + after.system_microseconds,
            before.user_microseconds + before.system_microseconds);
  if (after.read_bytes != 0) {  // the kernel counts
    EXPECT_GE(after.write_bytes, before.write_bytes + (1 << 20));
  }
}

TEST(ProcessUsage, OfNobodyIsNothing) {
  const ProcessUsage usage = read_process_usage(0x3fffffff);
  EXPECT_EQ(usage.rss_kib, 0u);
  EXPECT_EQ(usage.user_microseconds, 0u);
}

}  // namespace
}  // namespace minke::node
