// The effect of each request on a job in each of its states, and which of Slurm's
// errors a refused request gets.
#include <gtest/gtest.h>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/simulation/engine.h"
#include "engine/embedded/simulation/one_machine.h"
#include "engine/embedded/state/state.h"
#include "model/error.h"
#include "rpc/messages.pb.h"
#include "store/testing.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

enum Situation { kWaiting, kHeld, kRunning, kSuspended, kCompleting, kOver };
enum Request { kCancel, kHold, kRelease, kRequeue, kSuspend, kResume };
constexpr uint32_t kDone = 0;

struct Row {
  Situation situation;
  Request request;
  uint32_t error;  // kDone: none
  JobState state;  // of the job, once what was asked for is done
  bool held = false;
};

class JobStates : public testing::TestWithParam<Row> {
 protected:
  JobStates()
      : machine_(agenda_, home_.path(),
                 [this] {
                   return 1'700'000'000 +
                          std::chrono::duration_cast<std::chrono::seconds>(agenda_.now()).count();
                 }),
        launcher_(machine_),
        engine_(agenda_, launcher_,
                {.config = simulated_configuration(home_.path()), .boot_id = machine_.boot_id()}) {
    const Status started = engine_.start();
    EXPECT_TRUE(started);
    run_until([&] { return engine_.ready(); });
    client_ = engine_.connect();
  }

  bool run_until(const std::function<bool()>& condition) {
    while (!condition() && (engine_.turn() || agenda_.step())) {
    }
    return condition();
  }
  void run_for(std::chrono::seconds time) {
    bool over = false;
    agenda_.after(time, [&] { over = true; });
    run_until([&] { return over; });
  }

  // The code of the error that it was answered with.
  uint32_t ask(const rpc::ClientMessage& message) {
    std::optional<uint32_t> code;
    client_->ask(message, [&](const rpc::ServerMessage& answer) {
      code = answer.has_error()                    ? answer.error().code()
             : answer.action().failures_size() > 0 ? answer.action().failures(0).code()
                                                   : kDone;
      if (answer.has_submit()) job_id_ = answer.submit().job_id();
    });
    EXPECT_TRUE(run_until([&] { return code.has_value(); }));
    return code.value_or(~0U);
  }

  uint32_t ask(Request request) {
    rpc::ClientMessage message;
    api::JobSelector selector;
    selector.set_job_id(job_id_);
    switch (request) {
      case kCancel:
        *message.mutable_signal()->mutable_filter()->add_jobs() = selector;
        break;
      case kHold:
      case kRelease:
        *message.mutable_hold()->add_jobs() = selector;
        message.mutable_hold()->set_kind(request == kHold ? api::HoldRequest::USER_HOLD
                                                          : api::HoldRequest::RELEASE);
        break;
      case kRequeue:
        *message.mutable_requeue()->add_jobs() = selector;
        break;
      case kSuspend:
      case kResume:
        *message.mutable_suspend()->add_jobs() = selector;
        message.mutable_suspend()->set_resume(request == kResume);
        break;
    }
    return ask(message);
  }

  void bring_to(Situation situation) {
    rpc::ClientMessage message;
    const char* program = situation == kOver ? "run=0" : "run=100000 term=20";
    *message.mutable_submit() = batch_request("0123456789abcdef", program, home_.path());
    if (situation == kWaiting) message.mutable_submit()->mutable_spec()->set_begin_time(1'800'000'000);
    if (situation == kHeld) message.mutable_submit()->mutable_spec()->set_hold(true);
    ASSERT_EQ(ask(message), kDone);
    run_for(std::chrono::seconds(5));
    if (situation == kSuspended) {
      EXPECT_EQ(ask(kSuspend), kDone);
    }
    if (situation == kCompleting) {
      EXPECT_EQ(ask(kCancel), kDone);
    }
  }

  JobRecord record() {
    if (const Job* job = engine_.core().state.find(job_id_)) return engine_.core().state.record_of(*job);
    const auto stored = engine_.store().job(job_id_);
    EXPECT_TRUE(stored && *stored);
    return stored && *stored ? (*stored)->record : JobRecord();
  }

  store::testing::TemporaryDirectory home_;
  Agenda agenda_;
  Machine machine_;
  LauncherHost launcher_;
  Engine engine_;
  std::unique_ptr<Client> client_;
  uint32_t job_id_ = 0;
};

TEST_P(JobStates, AnswerEachRequestAsTheTableSays) {
  const Row& row = GetParam();
  bring_to(row.situation);
  EXPECT_EQ(ask(row.request), row.error);
  run_for(std::chrono::seconds(3));
  const JobRecord before_end = record();
  EXPECT_EQ(before_end.priority() == 0, row.held);
  run_for(std::chrono::seconds(60));  // KillWait is over
  EXPECT_EQ(record().state(), row.state) << "reason " << record().reason();
}

const Row kTable[] = {
    {kWaiting, kCancel, kDone, JOB_CANCELLED},
    {kWaiting, kHold, kDone, JOB_PENDING, true},
    {kWaiting, kRelease, kDone, JOB_PENDING},
    {kWaiting, kRequeue, kJobPending, JOB_PENDING},
    {kWaiting, kSuspend, kJobPending, JOB_PENDING},
    {kWaiting, kResume, kJobPending, JOB_PENDING},
    {kHeld, kCancel, kDone, JOB_CANCELLED, true},
    {kHeld, kHold, kDone, JOB_PENDING, true},
    {kHeld, kRelease, kDone, JOB_RUNNING},
    {kHeld, kRequeue, kJobPending, JOB_PENDING, true},
    {kHeld, kSuspend, kJobPending, JOB_PENDING, true},
    {kHeld, kResume, kJobPending, JOB_PENDING, true},
    {kRunning, kCancel, kDone, JOB_CANCELLED},
    {kRunning, kHold, kDone, JOB_RUNNING, true},
    {kRunning, kRelease, kDone, JOB_RUNNING},
    {kRunning, kRequeue, kDone, JOB_RUNNING},
    {kRunning, kSuspend, kDone, JOB_SUSPENDED},
    {kRunning, kResume, kJobNotSuspended, JOB_RUNNING},
    {kSuspended, kCancel, kDone, JOB_CANCELLED},
    {kSuspended, kHold, kDone, JOB_SUSPENDED, true},
    {kSuspended, kRelease, kDone, JOB_SUSPENDED},
    {kSuspended, kRequeue, kDone, JOB_PENDING, true},
    {kSuspended, kSuspend, kDone, JOB_SUSPENDED},
    {kSuspended, kResume, kDone, JOB_RUNNING},
    {kCompleting, kCancel, kDone, JOB_CANCELLED},
    {kCompleting, kHold, kJobFinished, JOB_CANCELLED},
    {kCompleting, kRelease, kJobFinished, JOB_CANCELLED},
    {kCompleting, kRequeue, kTransitionState, JOB_CANCELLED},
    {kCompleting, kSuspend, kAlreadyDone, JOB_CANCELLED},
    {kCompleting, kResume, kAlreadyDone, JOB_CANCELLED},
    {kOver, kCancel, kAlreadyDone, JOB_COMPLETE},
    {kOver, kHold, kJobFinished, JOB_COMPLETE},
    {kOver, kRelease, kJobFinished, JOB_COMPLETE},
    {kOver, kRequeue, kDone, JOB_COMPLETE},
    {kOver, kSuspend, kAlreadyDone, JOB_COMPLETE},
    {kOver, kResume, kAlreadyDone, JOB_COMPLETE},
};

std::string name_of(const testing::TestParamInfo<Row>& row) {
  static const char* const situations[] = {"Waiting", "Held", "Running", "Suspended", "Completing", "Over"};
  static const char* const requests[] = {"Cancel", "Hold", "Release", "Requeue", "Suspend", "Resume"};
  return std::string(situations[row.param.situation]) + requests[row.param.request];
}

INSTANTIATE_TEST_SUITE_P(Table, JobStates, testing::ValuesIn(kTable), name_of);

// Its submission is yet to come, by such a clock; nobody has asked it to wait for that.
TEST(Clock, AHeldJobIsReleasedAtOnceThoughTheClockWasSetBack) {
  constexpr int64_t kBack = 25;
  OneMachine one;
  const int64_t begin = one.machine().now() + 10;
  const uint32_t held = one.submit("run=100", [](JobSpec& spec) { spec.set_hold(true); });
  const uint32_t later = one.submit("run=100", [&](JobSpec& spec) { spec.set_begin_time(begin); });
  one.clock_offset = -kBack;
  rpc::ClientMessage release;
  release.mutable_hold()->add_jobs()->set_job_id(held);
  release.mutable_hold()->set_kind(api::HoldRequest::RELEASE);
  EXPECT_EQ(one.outcome_of(release), 0u);
  one.run_for(std::chrono::seconds(2));
  EXPECT_EQ(one.record(held).state(), JOB_RUNNING);
  // Who has asked for a time waits for it.
  one.run_for(std::chrono::seconds(15));
  EXPECT_EQ(one.record(later).state(), JOB_PENDING);
  one.run_for(std::chrono::seconds(20));
  EXPECT_EQ(one.record(later).state(), JOB_RUNNING);
  EXPECT_GE(one.record(later).start_time(), begin);
}

}  // namespace
}  // namespace minke::engine::simulation
