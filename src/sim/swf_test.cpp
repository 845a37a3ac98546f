#include "sim/swf.h"

#include <gtest/gtest.h>

namespace minke::sim {
namespace {

TEST(Swf, ReadsHeadersJobsAndComments) {
  const auto trace = read_swf(
      "; Version: 2.2\n;MaxProcs:  64 \r\n; MaxNodes: 32\n; Note: MaxProcs: 9\n\n"
      "   2 20 5 100 4 -1 1024 8 200 2048 1 7 3 -1 1 2 -1 -1\r\n"
      "1\t10 5 300 4 -1 -1 -1 200 -1 1 7 -1 -1 -1 -1 -1 -1 ; was long\n");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->processors, 64u);
  ASSERT_EQ(trace->jobs.size(), 2u);
  const TraceJob& first = trace->jobs[0];  // in order of submission
  EXPECT_EQ(first.id, 1u);
  EXPECT_EQ(first.runs, 200);  // cut to what it asked for
  EXPECT_EQ(first.processors, 4u);
  EXPECT_EQ(trace->names[first.user], "user7");
  EXPECT_EQ(trace->names[first.group], "");
  const TraceJob& second = trace->jobs[1];
  EXPECT_EQ(second.processors, 8u);
  EXPECT_EQ(second.memory_mib, 16u);
  EXPECT_EQ(trace->names[second.partition], "partition2");
}

TEST(Swf, LeavesOutWhatCannotBeReplayed) {
  const char* text =
      "1 0 -1 0 4 -1 -1 4 100 -1 5\n"     // never ran
      "2 0 -1 10 -1 -1 -1 -1 100 -1 1\n"  // no processors
      "3 0 -1 10 4 -1 -1 4 -1 -1 1\n"     // no requested time
      "4 0 -1 10 4 -1 -1 4 60 -1 5\n";    // cancelled while it ran
  const auto trace = read_swf(text);
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->jobs.size(), 1u);
  EXPECT_EQ(trace->jobs[0].id, 4u);
  EXPECT_EQ(trace->left_out, 3u);
  const auto more = read_swf(text, {.without_request = true});
  ASSERT_EQ(more->jobs.size(), 2u);
  EXPECT_EQ(more->jobs[0].asks, 10);
}

TEST(Swf, PartsOfAnInterruptedJobAreNotJobs) {
  const auto trace = read_swf(
      "1 0 -1 30 4 -1 -1 4 100 -1 1\n"
      "1 0 -1 10 4 -1 -1 4 100 -1 2\n"
      "1 15 -1 20 4 -1 -1 4 100 -1 3\n"
      "2 15 -1 20 4 -1 -1 4 100 -1 3\n");  // no other line tells of it
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->jobs.size(), 2u);
  EXPECT_EQ(trace->jobs[0].runs, 30);
  EXPECT_EQ(trace->jobs[1].id, 2u);
  EXPECT_EQ(trace->left_out, 2u);
}

TEST(Swf, NamesTheLineThatIsNoJob) {
  for (const char* text : {"; x\n1 2 3\n", "; x\n1 0 -1 10 4 -1 nonsense\n", "; x\n1 0 -1 10x 4\n",
                           "; x\n1 0 -1 1e300 4 -1 -1 4 60\n", "; x\nnan 0 -1 1 4 -1 -1 4 60\n"}) {
    const auto trace = read_swf(text);
    ASSERT_FALSE(trace) << text;
    EXPECT_EQ(trace.error().message, "line 2 is no job in Standard Workload Format");
  }
  EXPECT_TRUE(read_swf(""));
  EXPECT_TRUE(read_swf("1 0.4 -1 10.2 4 -1 -1 4 60"));  // some archives have fractions of seconds
}

}  // namespace
}  // namespace minke::sim
