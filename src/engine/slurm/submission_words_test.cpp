#include "engine/slurm/submission_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "api/submission.pb.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "text/duration.h"

namespace minke::engine::slurm {
namespace {

using Words = std::vector<std::string>;

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(SubmissionWords, WhatWasNotAskedForGivesNoWord) {
  EXPECT_TRUE(sbatch_options(model::JobSpec()).empty());
}

TEST(SubmissionWords, EachWordIsOneArgumentWhateverAUserWrites) {
  model::JobSpec spec;
  spec.set_name("two words; rm -rf ~ $(x)\n--uid=0");
  spec.set_comment("--array=1-9");
  const Words words = sbatch_options(spec);
  EXPECT_EQ(words, (Words{"--job-name=two words; rm -rf ~ $(x)\n--uid=0", "--comment=--array=1-9"}));
}

TEST(SubmissionWords, SaysWhatTheNewestReleaseHas) {
  model::JobSpec spec;
  for (const uint32_t count : {1, 3, 5}) spec.add_node_counts(count);
  spec.set_min_nodes(1);
  spec.set_max_nodes(5);
  spec.set_segment_size(1);
  spec.set_consolidate_segments(true);
  spec.set_spread_segments(true);
  spec.set_mem_update("20@5");
  spec.set_requeue(true);
  EXPECT_TRUE(has(sbatch_options(spec), "--requeue"));
  spec.set_expedited_requeue(true);
  const Words words = sbatch_options(spec);
  for (const char* word : {"--nodes=1,3,5", "--consolidate-segments", "--spread-segments",
                           "--mem-update=20@5", "--requeue=expedite"})
    EXPECT_TRUE(has(words, word)) << word;
  EXPECT_FALSE(has(words, "--requeue"));
}

TEST(SubmissionWords, SaysTimesNodesMemoryAndGpus) {
  model::JobSpec spec;
  spec.set_time_limit_minutes(text::kUnlimited);
  spec.set_time_min_minutes(30);
  spec.set_min_nodes(2);
  spec.set_max_nodes(4);
  spec.set_mem_per_node_mib(0);
  spec.set_mem_per_cpu_mib(512);
  model::Gres& gpus = *spec.add_gpus();
  gpus.set_name("gpu");
  gpus.set_type("a100");
  gpus.set_count(3);
  model::Gres& each = *spec.add_gres_per_node();
  each.set_name("gpu");
  each.set_count(2);
  const Words words = sbatch_options(spec);
  for (const char* word : {"--time=UNLIMITED", "--time-min=30", "--nodes=2-4", "--mem=0",
                           "--mem-per-cpu=512M", "--gpus=a100:3", "--gres=gpu:2"})
    EXPECT_TRUE(has(words, word)) << word;
  spec.set_gpus_per_node("2");
  EXPECT_FALSE(has(sbatch_options(spec), "--gres=gpu:2"));
  EXPECT_TRUE(has(sbatch_options(spec), "--gpus-per-node=2"));
}

TEST(SubmissionWords, SaysArraysDependenciesAndSignals) {
  model::JobSpec spec;
  model::IndexRange& range = *spec.mutable_array()->add_ranges();
  range.set_first(1);
  range.set_last(5);
  range.set_step(1);
  spec.mutable_array()->set_max_running(2);
  model::Dependency& after = *spec.add_dependencies();
  after.set_type(model::AFTER_OK);
  after.set_job_id(7);
  spec.mutable_warning_signal()->set_number(10);
  spec.mutable_warning_signal()->set_seconds_before_end(90);
  spec.mutable_warning_signal()->set_batch_only(true);
  spec.set_requeue(true);
  spec.set_open_mode(model::OPEN_APPEND);
  spec.set_exclusive(true);
  const Words words = sbatch_options(spec);
  for (const char* word : {"--array=1-5%2", "--dependency=afterok:7", "--signal=B:USR1@90", "--requeue",
                           "--open-mode=append", "--exclusive"})
    EXPECT_TRUE(has(words, word)) << word;
}

TEST(SubmissionWords, AMarkIsFoundBehindTheUsersComment) {
  const std::string mark = submission_mark(std::string("\x00\xff\x10", 3));
  EXPECT_EQ(mark, "minke:00ff10");
  model::JobRecord job;
  EXPECT_FALSE(has_mark(job, mark));
  job.mutable_spec()->set_comment(marked_comment("mine", mark));
  EXPECT_EQ(job.spec().comment(), "mine minke:00ff10");
  EXPECT_TRUE(has_mark(job, mark));
  EXPECT_EQ(marked_comment("", mark), mark);
}

TEST(SubmissionWords, ReadsWhatSbatchAnswers) {
  EXPECT_EQ(submitted_job("1234\n").value_or(0), 1234u);
  EXPECT_EQ(submitted_job("1234;campus\n").value_or(0), 1234u);
  EXPECT_EQ(submitted_job("welcome to campus\n1234\n").value_or(0), 1234u);
  for (const char* bad : {"", "0", "12x", "queued", "-1"}) EXPECT_FALSE(submitted_job(bad)) << bad;
}

TEST(SubmissionWords, ReadsWhatATestAnswers) {
  const auto told = tested_job(
      "sbatch: Job 1002 to start at 2026-11-23T13:05:00 using 1 processors on nodes n1 in partition main\n",
      std::time(nullptr));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->job_id(), 1002u);
  EXPECT_EQ(told->num_cpus(), 1u);
  EXPECT_EQ(told->node_list(), "n1");
  EXPECT_EQ(told->partition(), "main");
  EXPECT_NE(told->start_time(), 0);
  EXPECT_FALSE(tested_job("sbatch: something else\n", 0));
}

}  // namespace
}  // namespace minke::engine::slurm
