#include "sim/sacct.h"

#include <gtest/gtest.h>

namespace minke::sim {
namespace {

TEST(Sacct, ReadsJobsByTheNamesOfTheirColumns) {
  const char* text =
      "JobID|User|Account|Partition|Submit|Elapsed|Timelimit|ReqMem|AllocTRES|State|\n"
      "12|ann|def-a_gpu|gpu,cpu|2026-03-01T10:00:10|01:00:00|03:00:00||billing=8,cpu=12,gres/gpu:a100=2,gres/"
      "gpu=2,mem=250G,"
      "node=2|COMPLETED|\n"
      "12.batch|||gpu|2026-03-01T10:00:10|01:00:00|||cpu=6,mem=125G,node=1|COMPLETED|\n"
      "11_3|bob|def-b|cpu|2026-03-01T10:00:00|2-00:00:01|2-00:00:00|4Gn|cpu=8,node=1|TIMEOUT|\n"
      "13|bob|def-b|cpu|2026-03-01T10:00:20|00:00:00|01:00:00|4Gn||CANCELLED by 7|\n";
  ASSERT_TRUE(looks_like_sacct(text));
  const auto trace = read_sacct(text);
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2u);
  EXPECT_EQ(trace->left_out, 1u);
  const TraceJob& array = trace->jobs[0];
  EXPECT_EQ(array.id, 11u);
  EXPECT_EQ(array.asks, 172800);
  EXPECT_EQ(array.runs, 172800);  // Slurm's kill takes a moment
  EXPECT_EQ(array.memory_mib, 4096u);
  EXPECT_EQ(array.processors, 8u);
  const TraceJob& gpus = trace->jobs[1];
  EXPECT_EQ(gpus.submit - array.submit, 10);
  EXPECT_EQ(gpus.nodes, 2u);
  EXPECT_EQ(gpus.gpus, 2u);
  EXPECT_EQ(trace->names[gpus.gpu_type], "a100");
  EXPECT_EQ(gpus.memory_mib, 256000u);
  EXPECT_EQ(trace->names[gpus.account], "def-a_gpu");
  EXPECT_EQ(trace->names[gpus.partition], "gpu");
}

TEST(Sacct, RawColumnsAndOldMemory) {
  const auto trace = read_sacct(
      "JobIDRaw|ElapsedRaw|TimelimitRaw|NCPUS|NNodes|ReqMem|Submit|Eligible\n"
      "7|30|1|4|1|500Mc|2026-03-01T00:00:00|2026-03-01T01:00:00\n"
      "8|30|UNLIMITED|4|1||2026-03-01T00:00:00|Unknown\n");
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->jobs.size(), 2u);
  EXPECT_EQ(trace->jobs[0].id, 8u);  // eligible first
  EXPECT_EQ(trace->jobs[0].asks, 365 * 86400);
  EXPECT_EQ(trace->jobs[1].asks, 60);
  EXPECT_EQ(trace->jobs[1].memory_mib, 2000u);
}

TEST(Sacct, SaysWhatIsWrong) {
  EXPECT_EQ(read_sacct("JobID|Submit|Elapsed\n").error().message,
            "there is no column AllocTRES, ReqTRES or AllocCPUS");
  EXPECT_EQ(read_sacct("JobID|Submit|Elapsed|NCPUS\n1|2\n").error().message, "line 2 has 2 columns, not 4");
  EXPECT_EQ(read_sacct("JobID|Submit|Elapsed|NCPUS\nx|2026-03-01|1:00|1\n").error().message,
            "line 2: no job id");
  EXPECT_FALSE(looks_like_sacct("; a | b\n1 2 3\n"));
}

}  // namespace
}  // namespace minke::sim
