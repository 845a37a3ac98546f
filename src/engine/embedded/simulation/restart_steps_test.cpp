// What happens to steps when a daemon, its launcher, or the answer to their srun is lost.
#include <gtest/gtest.h>

#include <vector>

#include "api/steps.pb.h"
#include "engine/embedded/simulation/job_requests.h"
#include "engine/embedded/simulation/one_machine.h"
#include "engine/embedded/state/tags.pb.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/step_record.pb.h"
#include "node/launch.pb.h"
#include "rpc/messages.pb.h"

namespace minke::engine::simulation {
namespace {

using namespace model;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<StepRecord> steps_of(OneMachine& one, uint32_t job_id) {
  std::vector<StepRecord> steps;
  for (const auto& job : one.accounting())
    for (const StepRecord& step : job.steps)
      if (step.job_id() == job_id && step.kind() == STEP_NORMAL) steps.push_back(step);
  return steps;
}

// Daemon, launcher and owner in one second: nobody but the launcher's journal knows of the step.
TEST(RestartSteps, AStepOfAJobThatIsBeingStoppedIsAccountedFor) {
  for (const bool launcher_too : {false, true}) {
    OneMachine one;
    const uint32_t job_id = one.submit("", [](JobSpec& spec) { spec.set_interactive(true); });
    one.run_for(seconds(5));
    one.run_step(job_id, "run=1000 term=20");
    ASSERT_EQ(one.outcome_of(cancel(job_id)), 0u);
    one.run_for(seconds(1));
    ASSERT_TRUE(one.record(job_id).completing());
    one.kill_daemon();
    if (launcher_too) one.kill_launcher();
    one.start_daemon();
    one.run_for(seconds(60));
    EXPECT_EQ(one.record(job_id).state(), JOB_CANCELLED);
    const std::vector<StepRecord> steps = steps_of(one, job_id);
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].state(), JOB_CANCELLED);
    EXPECT_NE(steps[0].end_time(), 0);
    EXPECT_TRUE(one.host().launcher->table().all().empty());
  }
}

TEST(RestartSteps, AStepThatTheEndOfItsJobHasForgottenIsAccountedFor) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=10");
  one.run_for(seconds(30));
  ASSERT_EQ(one.record(job_id).state(), JOB_COMPLETE);
  StepTag tag;
  tag.mutable_record()->set_job_id(job_id);
  tag.mutable_record()->set_step_id(3);
  tag.mutable_record()->set_start_time(one.machine().now());
  node::LaunchOrder order;
  order.mutable_id()->set_job_id(job_id);
  order.mutable_id()->set_kind(STEP_NORMAL);
  order.mutable_id()->set_step_id(3);
  order.add_argv("program run=2 exit=4");
  order.add_tasks();
  tag.SerializeToString(order.mutable_tag());
  one.kill_daemon();
  one.host().launcher->launch(order);
  one.run_for(seconds(5));
  one.hold_commits();
  one.start_daemon();
  one.run_for(seconds(5));
  EXPECT_FALSE(one.host().launcher->table().all().empty());  // not before it is stored
  one.kill_daemon();
  one.commit_delay = milliseconds(1);
  for (int daemon = 0; daemon < 2; ++daemon) {  // the second one finds it stored
    one.start_daemon();
    one.run_for(seconds(5));
    const std::vector<StepRecord> steps = steps_of(one, job_id);
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].step_id(), 3u);
    EXPECT_EQ(steps[0].state(), JOB_FAILED);
    EXPECT_EQ(steps[0].exit_code(), 4 << 8);
    EXPECT_TRUE(one.host().launcher->table().all().empty());
    one.kill_daemon();
    if (daemon == 0) one.host().launcher->launch(order);
    one.run_for(seconds(5));
  }
}

// The launcher had not been told that it is.
TEST(RestartSteps, AStepThatIsStoredAsEndedDoesNotEndAgain) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=1000");
  one.run_for(seconds(5));
  one.run_step(job_id, "run=5");
  one.hold_commits();
  one.run_for(seconds(10));
  one.restart_daemon(OneMachine::Held::kStored);
  EXPECT_EQ(steps_of(one, job_id).size(), 1u);
  one.run_for(seconds(5));
  EXPECT_EQ(one.record(job_id).usage().user_microseconds(), kMicrosecondsOfTask);
  EXPECT_EQ(one.host().launcher->table().all().size(), 1u);  // the script
}

// Its srun was about to be told why.
TEST(RestartSteps, AStepThatCouldNotBeLaunchedSaysWhyWhenItIsAskedForAgain) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=1000");
  one.run_for(seconds(5));
  rpc::ClientMessage message;
  api::CreateStepRequest& request = *message.mutable_create_step();
  request.set_key("0123456789abcdef");
  request.set_job_id(job_id);
  request.mutable_spec()->add_argv("program run=1");
  request.mutable_spec()->set_work_dir(one.machine().home());
  request.mutable_spec()->set_ntasks(1);
  request.mutable_spec()->set_overlap(true);
  one.disk().set_full(true);  // the launcher's journal does not take it
  one.hold_commits();
  one.send(message);
  one.run_for(seconds(5));
  one.disk().set_full(false);
  one.restart_daemon(OneMachine::Held::kStored);
  ASSERT_EQ(steps_of(one, job_id).size(), 1u);
  request.set_resent(true);
  const rpc::ServerMessage answer = one.ask(message);
  ASSERT_TRUE(answer.step().has_ended());
  EXPECT_EQ(answer.step().ended().step().state(), JOB_FAILED);
  EXPECT_NE(answer.step().ended().launch_error(), "");
}

}  // namespace
}  // namespace minke::engine::simulation
