#include "text/state.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <csignal>

#include "model/job_state.pb.h"
#include "model/step_record.pb.h"

namespace minke::text {
namespace {

TEST(State, NamesAreReadBack) {
  for (int value = 0; value <= model::JobState_MAX; ++value) {
    if (!model::JobState_IsValid(value)) continue;
    auto state = static_cast<model::JobState>(value);
    EXPECT_NE(job_state_name(state), "?");
    EXPECT_EQ(parse_job_state(job_state_name(state))->state, state);
    EXPECT_EQ(parse_job_state(job_state_compact(state))->state, state);
  }
  EXPECT_EQ(job_state_name(model::JOB_COMPLETE), "COMPLETED");
  EXPECT_EQ(job_state_compact(model::JOB_OOM), "OOM");
  EXPECT_EQ(job_state_name(model::JOB_FAILED, true), "COMPLETING");
  EXPECT_EQ(job_state_compact(model::JOB_FAILED, true), "CG");
  EXPECT_EQ(job_state_compact(model::JOB_FAILED, false), "F");
}

TEST(State, WordsOfStateLists) {
  EXPECT_EQ(parse_job_state("pd")->state, model::JOB_PENDING);
  EXPECT_EQ(parse_job_state("Out_Of_Memory")->state, model::JOB_OOM);
  EXPECT_TRUE(parse_job_state("CG")->completing);
  EXPECT_EQ(parse_job_state("RQ")->state, model::JOB_REQUEUED);
  auto foreign = parse_job_state("RH");
  ASSERT_TRUE(foreign);
  EXPECT_FALSE(foreign->state || foreign->completing);
  for (const char* text : {"", "XX", "PENDINGS", "all"}) EXPECT_FALSE(parse_job_state(text)) << text;
}

TEST(State, EveryReasonHasAWord) {
  for (int value = 0; value <= model::StateReason_MAX; ++value) {
    if (!model::StateReason_IsValid(value)) continue;
    auto reason = static_cast<model::StateReason>(value);
    EXPECT_NE(state_reason_name(reason), "?") << value;
    EXPECT_EQ(parse_state_reason(state_reason_name(reason)), reason);
  }
  EXPECT_EQ(state_reason_name(model::WAIT_HELD_USER), "JobHeldUser");
  EXPECT_FALSE(parse_state_reason("Whim"));
}

TEST(State, ExitCodesOfRealWaitStatuses) {
  EXPECT_EQ(format_exit_code(0), "0:0");
  EXPECT_EQ(format_exit_code(W_EXITCODE(3, 0)), "3:0");
  EXPECT_EQ(format_exit_code(W_EXITCODE(255, 0)), "255:0");
  EXPECT_EQ(format_exit_code(W_EXITCODE(0, SIGKILL)), "0:9");
  EXPECT_EQ(format_exit_code(W_EXITCODE(0, SIGSEGV) | 0x80), "0:11");  // with a core dump
}

TEST(State, StepNames) {
  EXPECT_EQ(step_name(model::STEP_BATCH, 7), "batch");
  EXPECT_EQ(step_name(model::STEP_EXTERN, 0), "extern");
  EXPECT_EQ(step_name(model::STEP_INTERACTIVE, 0), "interactive");
  EXPECT_EQ(step_name(model::STEP_NORMAL, 7), "7");
}

}  // namespace
}  // namespace minke::text
