// Retention: how long records of ended jobs are kept.
#include "engine/embedded/watching/retention.h"

#include "api/accounting.pb.h"
#include "engine/embedded/simulation/request_test.h"

namespace minke::engine::simulation {
namespace {

constexpr int64_t kDay = 24 * 3600;

class RetentionTest : public RequestTest {
 protected:
  void start_keeping(const std::string& time) {
    start("", "[accounting]\npurge_jobs_after = \"" + time + "\"\n");
    core().retention->policy_changed();  // as the daemon does when it is ready
  }
  void run_one() {
    EXPECT_NE(submit(kAlice), 0u);
    engine().end_one(0, 0);
  }
  size_t recorded() {
    rpc::RequestEnvelope message;
    message.body<api::QueryAccountingRequest>();
    size_t count = 0;
    for (const rpc::AnswerEnvelope& part : ask_all(kRoot, message))
      count += static_cast<size_t>(part.read<api::AccountingReply>().jobs_size());
    return count;
  }
};

TEST_F(RetentionTest, OnceADayWhatEndedLongAgoLeaves) {
  start_keeping("3-0");
  run_one();
  engine().pass(kDay + 60);
  run_one();
  engine().pass(kDay);
  EXPECT_EQ(recorded(), 2u);
  engine().pass(kDay);
  EXPECT_EQ(recorded(), 1u);
  engine().pass(kDay + 60);
  EXPECT_EQ(recorded(), 0u);
}

TEST_F(RetentionTest, WhatRunsAndWhatWaitsStaysHoweverOldItIs) {
  start_keeping("1-0");
  const uint32_t running = submit(kAlice, [](model::JobSpec& spec) { spec.set_time_limit_minutes(100000); });
  const uint32_t held = submit(kAlice, [](model::JobSpec& spec) { spec.set_hold(true); });
  engine().pass(5 * kDay);
  EXPECT_EQ(state(running), model::JOB_RUNNING);
  EXPECT_EQ(state(held), model::JOB_PENDING);
  EXPECT_EQ(recorded(), 2u);
}

TEST_F(RetentionTest, WithoutThatNothingIsForgotten) {
  start_keeping("never");
  run_one();
  engine().pass(1000 * kDay);
  EXPECT_EQ(recorded(), 1u);
  // From when the configuration says otherwise.
  core().config.accounting.purge_jobs_after = kDay;
  core().retention->policy_changed();
  engine().settle();
  EXPECT_EQ(recorded(), 0u);
}

}  // namespace
}  // namespace minke::engine::simulation
