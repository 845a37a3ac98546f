#include "text/job_id.h"

#include <gtest/gtest.h>

#include "model/job_record.pb.h"
#include "model/step_record.pb.h"
#include "text/array_spec.h"

namespace minke::text {
namespace {

TEST(JobId, WhatIsReadIsWritten) {
  for (const char* text :
       {"12", "12_3", "12_[1-5,9]", "12_[1-5,9%2]", "12_[0-8:2]", "12.batch", "12.0", "12.extern",
        "12_3.batch", "12_3.7", "4294967293", "12_0", "12.interactive", "12+1", "12+0.3"}) {
    auto reference = parse_job_id(text);
    ASSERT_TRUE(reference) << text;
    EXPECT_EQ(format_job_id(*reference), text);
  }
  EXPECT_EQ(format_job_id(*parse_job_id("12_*")), "12");
  EXPECT_EQ(format_job_id(*parse_job_id("12_[3]")), "12_3");
  EXPECT_EQ(format_job_id(*parse_job_id(" 12 ")), "12");
  EXPECT_EQ(format_job_id(*parse_job_id("12.BATCH")), "12.batch");
}

TEST(JobId, Refuses) {
  for (const char* text : {"",           "x",      "0",      "-1",      "12_",    "12_x",  "12_[",
                           "12_[]",      "12_[x]", "12.",    "12.x",    "12.0.0", "12+",   "4294967296",
                           "12_4000002", "12 13",  "12_3_4", "12_[1]x", "1.5e3",  "batch", "12_1-3"}) {
    auto reference = parse_job_id(text);
    ASSERT_FALSE(reference) << text;
    EXPECT_EQ(reference.error().message, "Invalid job id specified");
  }
}

TEST(JobId, Lists) {
  auto list = parse_job_id_list("12,13_[1,3-4],14.batch 15,,");
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 4u);
  EXPECT_EQ(count_indices((*list)[1].tasks), 3u);
  EXPECT_EQ((*list)[2].step->kind, model::STEP_BATCH);
  EXPECT_EQ((*list)[3].job_id, 15u);
  EXPECT_TRUE(parse_job_id_list("")->empty());
  EXPECT_FALSE(parse_job_id_list("12,x"));
  EXPECT_FALSE(parse_job_id_list("12_[1,2"));
}

TEST(JobId, OfRecords) {
  model::JobRecord job;
  job.set_job_id(12);
  EXPECT_EQ(format_job_id(job), "12");
  EXPECT_EQ(shown_number(job), 12u);
  EXPECT_EQ(jobs_in(job), 1u);
  job.set_array_job_id(10);
  *job.mutable_array_pending() = *parse_array_spec("1-5%2");
  EXPECT_EQ(format_job_id(job), "10_[1-5%2]");
  EXPECT_EQ(shown_number(job), 10u);
  EXPECT_EQ(jobs_in(job), 5u);
  job.set_array_task_id(0);
  EXPECT_EQ(format_job_id(job), "10_0");
  EXPECT_EQ(jobs_in(job), 1u);
  model::StepRecord step;
  step.set_job_id(12);
  step.set_kind(model::STEP_BATCH);
  EXPECT_EQ(format_step_id(step), "12.batch");
  step.set_kind(model::STEP_NORMAL);
  step.set_step_id(4);
  step.set_array_job_id(10);
  step.set_array_task_id(0);
  EXPECT_EQ(format_step_id(step), "10_0.4");
}

}  // namespace
}  // namespace minke::text
