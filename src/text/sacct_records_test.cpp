#include "text/sacct_records.h"

#include <gtest/gtest.h>

#include "model/step_record.pb.h"
#include "text/number.h"
#include "text/state.h"

namespace minke::text {
namespace {

struct Seen {
  std::vector<AccountedRecords> jobs;
  std::vector<std::string> errors;
  uint64_t unfinished = 0;
};

Seen read(std::string_view text) {
  SacctReader reader;
  Seen seen;
  for (const std::string_view line : split(text, '\n')) {
    if (const Status done = reader.line(line); !done) seen.errors.push_back(done.error().message);
  }
  reader.finish();
  seen.jobs = reader.take();
  seen.unfinished = reader.unfinished();
  return seen;
}

TEST(SacctReader, TakesAnyDelimiterAndOrderOfColumns) {
  const Seen seen = read(
      "State~JobName~End~Submit~JobID\n"
      "FAILED~a|b\nc~uts1700000100~1700000000~7\n"
      "FAILED~d~uts1700000100~1700000000~8\n");
  ASSERT_EQ(seen.jobs.size(), 2u);
  EXPECT_EQ(seen.jobs[0].job.submit_time(), 1700000000);
  EXPECT_EQ(seen.jobs[0].job.end_time(), 1700000100);
  EXPECT_EQ(seen.jobs[0].job.spec().name(), "a|b\nc");
  EXPECT_EQ(seen.jobs[0].job.uid(), SacctReader::kNoUser);
}

TEST(SacctReader, ReadsArraysComponentsRunsAndSteps) {
  const Seen seen = read(
      "JobID|JobIDRaw|State|ExitCode|Submit|End|AllocTRES|UserCPU|SystemCPU|NTasks|AveRSS|\n"
      "12_3|13|CANCELLED by "
      "1000|0:9|1700000000|1700000100|billing=8,cpu=4,gres/gpu:a100=2,gres/gpu=3,mem=8G,node=2"
      "|1-02:00:00|00:01.250|||\n"
      "12_3.batch|13.batch|FAILED|2:0|1700000000|1700000100|cpu=4|01:00|00:00|1|2K|\n"
      "12_3.4|13.4|OUT_OF_MEMORY|0:125|1700000000|1700000100|cpu=4|01:00|00:00|4|1.5M|\n"
      "20+1|21|TIMEOUT|0:0|1700000000|1700000100||||||\n"
      "30|30|PREEMPTED|0:0|1700000000|1700000100||||||\n"
      "30|30|COMPLETED|0:0|1700000200|1700000300||||||\n"
      "31|31|RUNNING|0:0|1700000200|Unknown||||||\n"
      "31.0|31.0|RUNNING|0:0|1700000200|Unknown||||||\n");
  EXPECT_TRUE(seen.errors.empty()) << seen.errors.front();
  EXPECT_EQ(seen.unfinished, 1u);
  ASSERT_EQ(seen.jobs.size(), 4u);
  const auto& task = seen.jobs[0];
  EXPECT_EQ(task.job.job_id(), 13u);
  EXPECT_EQ(task.job.array_job_id(), 12u);
  EXPECT_EQ(task.job.array_task_id(), 3u);
  EXPECT_EQ(task.job.cancelled_by_uid(), 1000u);
  EXPECT_EQ(task.job.exit_code(), 9);
  EXPECT_EQ(task.job.num_cpus(), 4u);
  EXPECT_EQ(task.job.memory_mib(), 8192u);
  EXPECT_EQ(task.job.billing(), 8);
  ASSERT_EQ(task.job.tres_gres_size(), 2);  // one GPU more than those of a known type
  EXPECT_EQ(task.job.tres_gres(1).count(), 1u);
  EXPECT_EQ(task.job.usage().user_microseconds(), 26ull * 3600 * 1'000'000);
  EXPECT_EQ(task.job.usage().system_microseconds(), 1'250'000u);
  ASSERT_EQ(task.steps.size(), 2u);
  EXPECT_EQ(task.steps[0].kind(), model::STEP_BATCH);
  EXPECT_EQ(exit_status_of(task.steps[0].exit_code()), 2);
  EXPECT_EQ(task.steps[1].step_id(), 4u);
  EXPECT_EQ(task.steps[1].exit_code(), kOutOfMemory);
  EXPECT_EQ(task.steps[1].usage().total_rss_kib(), 4u * 1536);
  EXPECT_FALSE(task.job.spec().interactive());
  EXPECT_EQ(seen.jobs[1].job.het_job_id(), 20u);
  EXPECT_EQ(seen.jobs[1].job.het_job_offset(), 1u);
  EXPECT_EQ(seen.jobs[2].job.restarts(), 0u);
  EXPECT_EQ(seen.jobs[3].job.restarts(), 1u);
}

TEST(SacctReader, NamesWhatIsWrongAndGoesOn) {
  EXPECT_NE(read("JobID|State|Submit\n").errors.at(0).find("no column End"), std::string::npos);
  EXPECT_FALSE(read("|||\n").errors.empty());
  EXPECT_FALSE(read("JobID|JobID|State|Submit|End\n").errors.empty());
  const Seen seen = read(
      "JobID|State|Submit|End|JobName\n"
      "1|FAILED|1700000000|1700000100|a|b\n"
      "what|FAILED|1700000000|1700000100|a\n"
      "2|MELTED|1700000000|1700000100|a\n"
      "5_[1-3]|CANCELLED|1700000000|1700000100|a\n"
      "3|FAILED|1700000000|1700000100|rest\nof it\n"
      "4|FAILED|1700000000|1700000100|\n");
  EXPECT_EQ(seen.errors.size(), 4u);
  ASSERT_EQ(seen.jobs.size(), 2u);
  EXPECT_EQ(seen.jobs[1].job.job_id(), 4u);
}

}  // namespace
}  // namespace minke::text
