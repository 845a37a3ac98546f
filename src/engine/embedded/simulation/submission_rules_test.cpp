// Which submissions are refused with which of Slurm's errors, and the effect of each kind of dependency for
// each way in which the named job can end.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "api/actions.pb.h"
#include "api/submission.pb.h"
#include "engine/embedded/simulation/request_test.h"
#include "model/error.h"
#include "model/job_terms.pb.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

struct Refused {
  const char* what;
  std::function<void(JobSpec&)> change;
  uint32_t error;
};

class SubmissionRules : public RequestTest {
 protected:
  uint32_t refused(uint32_t uid, const Change& change) { return outcome(uid, submission(change)); }
};

TEST_F(SubmissionRules, WhatIsRefused) {
  constexpr int64_t kNow = 1'700'000'000;
  const Refused rows[] = {
      {"no directory", [](JobSpec& spec) { spec.clear_work_dir(); }, kPathnameTooLong},
      {"a relative directory", [](JobSpec& spec) { spec.set_work_dir("here"); }, kPathnameTooLong},
      {"a begin before all times", [](JobSpec& spec) { spec.set_begin_time(INT64_MIN); }, kInvalidTimeValue},
      {"a begin after all times", [](JobSpec& spec) { spec.set_begin_time(INT64_MAX); }, kInvalidTimeValue},
      {"a deadline after all times", [](JobSpec& spec) { spec.set_deadline(INT64_MAX); }, kInvalidTimeValue},
      {"a deadline that has passed", [](JobSpec& spec) { spec.set_deadline(kNow - 1); }, kInvalidTimeLimit},
      {"a deadline before it begins",
       [](JobSpec& spec) {
         spec.set_begin_time(kNow + 7200);
         spec.set_deadline(kNow + 3600);
       },
       kInvalidTimeValue},
      {"less time than --time-min",
       [](JobSpec& spec) {
         spec.set_deadline(kNow + 600);
         spec.set_time_min_minutes(60);
       },
       kInvalidTimeMin},
      {"a partition that there is not", [](JobSpec& spec) { spec.set_partition("nowhere"); },
       kInvalidPartitionName},
      {"an index beyond the largest",
       [](JobSpec& spec) { spec.mutable_array()->add_ranges()->set_last(4294967290); }, kInvalidArray},
      {"a reservation that there is not", [](JobSpec& spec) { spec.set_reservation("beach"); },
       kReservationInvalid},
      {"less than --nice=0", [](JobSpec& spec) { spec.set_nice(-1); }, kAccessDenied},
      {"a priority", [](JobSpec& spec) { spec.set_priority(5); }, kAccessDenied},
      {"a comment of the administrator's", [](JobSpec& spec) { spec.set_admin_comment("x"); }, kAccessDenied},
      {"a script where there is none", [](JobSpec& spec) { spec.set_interactive(false); }, 0},
  };
  for (const Refused& row : rows) {
    const size_t before = core().state.jobs().size();
    EXPECT_EQ(refused(kAlice, row.change), row.error) << row.what << ": " << what_was_said();
    if (row.error != 0) {
      EXPECT_EQ(core().state.jobs().size(), before) << row.what;
    }
  }
  EXPECT_EQ(refused(kRoot, [](JobSpec& spec) { spec.set_nice(-1); }), 0u);
  EXPECT_EQ(refused(kRoot, [](JobSpec& spec) { spec.set_priority(5); }), 0u);
}

TEST_F(SubmissionRules, AKeySubmitsOnce) {
  rpc::RequestEnvelope message = submission();
  const uint32_t job = ask(kAlice, message).read<api::SubmitReply>().job_id();
  ASSERT_NE(job, 0u);
  EXPECT_EQ(ask(kAlice, message).read<api::SubmitReply>().job_id(), job);
  EXPECT_EQ(outcome(kBob, message), static_cast<uint32_t>(kAccessDenied));
  message.body<api::SubmitRequest>().set_key("short");
  EXPECT_EQ(outcome(kAlice, message), static_cast<uint32_t>(kInternal));
}

TEST_F(SubmissionRules, ATestLeavesNothingBehind) {
  rpc::RequestEnvelope message = submission();
  message.body<api::SubmitRequest>().set_test_only(true);
  const rpc::AnswerEnvelope answer = ask(kAlice, message);
  EXPECT_EQ(answer.read<api::SubmitReply>().node_list(), "n1");
  EXPECT_EQ(answer.read<api::SubmitReply>().start_time(), core().now());
  EXPECT_TRUE(core().state.jobs().empty());
}

TEST_F(SubmissionRules, AtOnceOrNotAtAll) {
  submit(kAlice, [](JobSpec& spec) {
    spec.set_min_nodes(3);
    spec.set_exclusive(true);
  });
  rpc::RequestEnvelope message = submission();
  message.body<api::SubmitRequest>().set_immediate(true);
  EXPECT_EQ(outcome(kAlice, message), static_cast<uint32_t>(kCannotStartImmediately));
  rpc::RequestEnvelope held = submission([](JobSpec& spec) { spec.set_hold(true); });
  held.body<api::SubmitRequest>().set_immediate(true);
  EXPECT_EQ(outcome(kAlice, held), static_cast<uint32_t>(kDependency));
}

// How the job that is named ends, and what becomes of the one that waits for it.
struct Row {
  DependencyType type;
  int32_t status;  // of wait(2)
  JobState after;
};

TEST_F(SubmissionRules, SortsOfDependencies) {
  const Row rows[] = {
      {AFTER_ANY, 0, JOB_RUNNING},  {AFTER_ANY, 256, JOB_RUNNING},    {AFTER_OK, 0, JOB_RUNNING},
      {AFTER_OK, 256, JOB_PENDING}, {AFTER_NOT_OK, 256, JOB_RUNNING}, {AFTER_NOT_OK, 0, JOB_PENDING},
  };
  for (const Row& row : rows) {
    start("");
    const uint32_t first = submit(kAlice);
    const uint32_t job = submit(kAlice, [&](JobSpec& spec) {
      Dependency& term = *spec.add_dependencies();
      term.set_type(row.type);
      term.set_job_id(first);
    });
    EXPECT_EQ(shown(job).reason(), WAIT_DEPENDENCY);
    engine().end_one(0, row.status);
    engine().pass(1);
    EXPECT_EQ(state(job), row.after) << row.type << " after " << row.status;
    if (row.after == JOB_PENDING) {
      EXPECT_EQ(shown(job).reason(), WAIT_DEP_INVALID);
    }
  }
}

TEST_F(SubmissionRules, OneOfAName) {
  const auto singleton = [](JobSpec& spec) {
    spec.set_name("one");
    spec.add_dependencies()->set_type(SINGLETON);
  };
  const uint32_t first = submit(kAlice, singleton), second = submit(kAlice, singleton);
  const uint32_t another = submit(kBob, singleton);
  EXPECT_EQ(state(first), JOB_RUNNING);
  EXPECT_EQ(state(second), JOB_PENDING);
  EXPECT_EQ(state(another), JOB_RUNNING);  // another user's
  engine().end_one(0, 0);
  engine().pass(1);
  EXPECT_EQ(state(second), JOB_RUNNING);
}

TEST_F(SubmissionRules, DependenciesThatCannotBe) {
  const auto on = [](uint32_t job, DependencyType type) {
    return [job, type](JobSpec& spec) {
      Dependency& term = *spec.add_dependencies();
      term.set_type(type);
      term.set_job_id(job);
    };
  };
  EXPECT_EQ(refused(kAlice, on(0, AFTER_OK)), static_cast<uint32_t>(kDependency));
  // How one ended that nobody knows any more cannot be told; that it has ended is no reason to wait.
  EXPECT_EQ(refused(kAlice, on(4711, AFTER_OK)), static_cast<uint32_t>(kDependency));
  const uint32_t job = submit(kAlice, on(4711, AFTER_ANY));
  EXPECT_EQ(state(job), JOB_RUNNING);
}

}  // namespace
}  // namespace minke::engine::simulation
