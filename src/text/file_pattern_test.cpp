#include "text/file_pattern.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

// The names that Slurm 22.05 gave to the output files of such jobs (%b came with later versions).
TEST(FilePattern, NamesOfABatchJob) {
  FilePatternValues values{};
  values.job_id = 1;
  values.step = "batch";
  values.host_name = std::string("vm");
  values.user_name = "root";
  values.job_name = "wrap";
  EXPECT_EQ(expand_file_pattern("o_%J_%s_%t_%n_%N_%a_%A_%4j_%x_%u_%%_%q.txt", values),
            "o_1_batch_0_0_vm_4294967294_1_0001_wrap_root_%_%q.txt");
  EXPECT_EQ(expand_file_pattern("x%%%j%", values), "x%1%");
  EXPECT_EQ(expand_file_pattern("lit\\%j.txt", values), "lit%j.txt");
}

TEST(FilePattern, NamesOfAnArrayTask) {
  FilePatternValues values;
  values.job_id = 9;
  values.array_job_id = 2;
  values.array_task_id = 13;
  values.step = "batch";
  EXPECT_EQ(expand_file_pattern("a_%A_%a_%b_%3a_%12A_%J.txt", values), "a_2_13_3_013_0000000002_9.txt");
}

TEST(FilePattern, NamesOfAStep) {
  FilePatternValues values;
  values.job_id = 12;
  values.step = "0";
  values.node_index = 1;
  values.task_rank = 7;
  values.host_name = "n1.example.org";
  EXPECT_EQ(expand_file_pattern("%J-%2s-%3t-%n-%5N", values), "12.0-00-007-1-n1");
}

TEST(FilePattern, OddPatterns) {
  FilePatternValues values;
  values.job_id = 5;
  EXPECT_EQ(expand_file_pattern("", values), "");
  EXPECT_EQ(expand_file_pattern("%N.%j", values), "%N.5");  // no node yet
  EXPECT_EQ(expand_file_pattern("%", values), "%");
  EXPECT_EQ(expand_file_pattern("%99", values), "99");
  EXPECT_EQ(expand_file_pattern("%5q|%5%|%q|%5 j|%.3j", values), "5q|5%|%q|5 j|%.3j");
  EXPECT_EQ(expand_file_pattern("%99999999999999999999j", values), "0000000005");
  EXPECT_EQ(expand_file_pattern("%0j", values), "5");
  EXPECT_EQ(expand_file_pattern("a\\\\b\\c\\", values), "a\\bc");
  // A value with a percent sign is not expanded again.
  values.job_name = "%j";
  EXPECT_EQ(expand_file_pattern("%x", values), "%j");
}

TEST(FilePattern, WhichDifferByTask) {
  for (const char* pattern : {"%t", "a%3t", "%N.log", "%%%n"})
    EXPECT_TRUE(differs_by_task(pattern)) << pattern;
  for (const char* pattern : {"", "%j", "%%t", "\\%t", "t", "%"})
    EXPECT_FALSE(differs_by_task(pattern)) << pattern;
}

}  // namespace
}  // namespace minke::text
