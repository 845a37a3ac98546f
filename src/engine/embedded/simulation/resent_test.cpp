// Repeated requests whose answer was lost with the daemon: an action that was carried out is
// neither refused nor done twice.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/simulation/one_machine.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "rpc/messages.pb.h"

namespace minke::engine::simulation {
namespace {

using namespace model;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

using Request = std::function<rpc::ClientMessage(uint32_t job_id)>;

rpc::ClientMessage cancel(uint32_t job_id) {
  rpc::ClientMessage message;
  message.mutable_signal()->mutable_filter()->add_jobs()->set_job_id(job_id);
  return message;
}
rpc::ClientMessage hold(uint32_t job_id) {
  rpc::ClientMessage message;
  message.mutable_hold()->add_jobs()->set_job_id(job_id);
  message.mutable_hold()->set_kind(api::HoldRequest::USER_HOLD);
  return message;
}
rpc::ClientMessage release(uint32_t job_id) {
  rpc::ClientMessage message = hold(job_id);
  message.mutable_hold()->set_kind(api::HoldRequest::RELEASE);
  return message;
}
rpc::ClientMessage requeue(uint32_t job_id) {
  rpc::ClientMessage message;
  message.mutable_requeue()->add_jobs()->set_job_id(job_id);
  return message;
}
rpc::ClientMessage suspend(uint32_t job_id) {
  rpc::ClientMessage message;
  message.mutable_suspend()->add_jobs()->set_job_id(job_id);
  return message;
}
rpc::ClientMessage resume(uint32_t job_id) {
  rpc::ClientMessage message = suspend(job_id);
  message.mutable_suspend()->set_resume(true);
  return message;
}

struct Row {
  const char* name;
  Request request;
  bool held, suspended;  // the job, before
  int64_t later;         // s between the request and its second time
  uint32_t refused;      // what one who asks for the first time then is told
  JobState state;        // then, and after it was asked for again
  uint32_t restarts = 0;
};

class Resent : public testing::TestWithParam<Row> {
 protected:
  // The job, when the request has been carried out and stored, and the daemon was killed before its answer.
  void lose_the_answer() {
    const Row& row = GetParam();
    job_id_ = one_.submit("run=40", [&](JobSpec& spec) { spec.set_hold(row.held); });
    one_.run_for(seconds(5));
    if (row.suspended) {
      ASSERT_EQ(one_.outcome_of(suspend(job_id_)), 0u);
    }
    one_.run_for(seconds(5));
    sent_ = one_.machine().now();
    one_.commit_delay = hours(1);
    const auto client = one_.engine().connect();
    client->ask(row.request(job_id_), nullptr);
    one_.run_for(milliseconds(100));
    one_.kill_daemon(std::numeric_limits<size_t>::max());
    one_.commit_delay = milliseconds(1);
    one_.start_daemon();
    one_.run_for(seconds(row.later));
    ASSERT_EQ(one_.record(job_id_).state(), row.state);
    ASSERT_EQ(one_.record(job_id_).restarts(), row.restarts);
  }

  OneMachine one_;
  uint32_t job_id_ = 0;
  int64_t sent_ = 0;
};

TEST_P(Resent, ItIsAnsweredAsDoneAndNothingIsDone) {
  lose_the_answer();
  const Row& row = GetParam();
  rpc::ClientMessage again = row.request(job_id_);
  again.set_first_sent(sent_);
  EXPECT_EQ(one_.outcome_of(again), 0u);
  one_.run_for(milliseconds(500));
  EXPECT_EQ(one_.record(job_id_).state(), row.state);
  EXPECT_EQ(one_.record(job_id_).restarts(), row.restarts);
}

TEST_P(Resent, WhoAsksForTheFirstTimeIsAnsweredAsEver) {
  lose_the_answer();
  EXPECT_EQ(one_.outcome_of(GetParam().request(job_id_)), GetParam().refused);
}

constexpr bool kHeld = true, kSuspended = true;
constexpr int64_t kSoon = 5, kRunsAgain = 30, kAfterItsEnd = 200;

const Row kRows[] = {
    {"CancelRunning", cancel, !kHeld, !kSuspended, kSoon, kAlreadyDone, JOB_CANCELLED},
    {"CancelWaiting", cancel, kHeld, !kSuspended, kSoon, kAlreadyDone, JOB_CANCELLED},
    {"Release", release, kHeld, !kSuspended, kSoon, 0, JOB_RUNNING},
    {"ReleaseThenItEnded", release, kHeld, !kSuspended, kAfterItsEnd, kAlreadyDone, JOB_COMPLETE},
    {"Hold", hold, kHeld, !kSuspended, kSoon, 0, JOB_PENDING},
    {"HoldThenItEnded", hold, !kHeld, !kSuspended, kAfterItsEnd, kAlreadyDone, JOB_COMPLETE},
    {"RequeueAndItWaits", requeue, !kHeld, !kSuspended, 1, kJobPending, JOB_PENDING, 1},
    {"RequeueAndItRunsAgain", requeue, !kHeld, !kSuspended, kRunsAgain, 0, JOB_RUNNING, 1},
    {"RequeueAndItHasEndedAgain", requeue, !kHeld, !kSuspended, kAfterItsEnd, 0, JOB_COMPLETE, 1},
    {"Suspend", suspend, !kHeld, !kSuspended, kSoon, 0, JOB_SUSPENDED},
    {"Resume", resume, !kHeld, kSuspended, kSoon, kJobNotSuspended, JOB_RUNNING},
    {"ResumeThenItEnded", resume, !kHeld, kSuspended, kAfterItsEnd, kAlreadyDone, JOB_COMPLETE},
};

INSTANTIATE_TEST_SUITE_P(Requests, Resent, testing::ValuesIn(kRows),
                         [](const auto& one) { return std::string(one.param.name); });

// That the connection was lost says nothing of what the first daemon had heard.
TEST(ResentInVain, WhatWasNotDoneIsDone) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=100");
  one.run_for(seconds(5));
  rpc::ClientMessage again = requeue(job_id);
  again.set_first_sent(one.machine().now());
  EXPECT_EQ(one.outcome_of(again), 0u);
  one.run_for(seconds(60));
  EXPECT_EQ(one.record(job_id).restarts(), 1u);
  again.set_first_sent(one.machine().now());
  EXPECT_EQ(one.outcome_of(again), 0u);
  one.run_for(seconds(60));
  EXPECT_EQ(one.record(job_id).restarts(), 2u);
}

TEST(ResentInVain, AHeldJobThatWasCancelledIsNotReleased) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=100", [](JobSpec& spec) { spec.set_hold(true); });
  const int64_t sent = one.machine().now();
  EXPECT_EQ(one.outcome_of(cancel(job_id)), 0u);
  rpc::ClientMessage again = release(job_id);
  again.set_first_sent(sent);
  EXPECT_EQ(one.outcome_of(again), uint32_t{kAlreadyDone});
}

}  // namespace
}  // namespace minke::engine::simulation
