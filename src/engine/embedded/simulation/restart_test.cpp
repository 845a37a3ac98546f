// How a restarted daemon handles what it finds in the store and at the launcher.
#include <gtest/gtest.h>

#include <vector>

#include "engine/embedded/core.h"
#include "engine/embedded/simulation/job_requests.h"
#include "engine/embedded/simulation/one_machine.h"
#include "model/step_record.pb.h"
#include "rpc/messages.pb.h"

namespace minke::engine::simulation {
namespace {

using namespace model;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Of each of its starts.
std::vector<uint32_t> runs_of(OneMachine& one, uint32_t job_id) {
  std::vector<uint32_t> runs;
  for (const Start& start : one.machine().starts())
    if (start.launch.job.job_id == job_id) runs.push_back(start.launch.job.run);
  return runs;
}

TEST(Restart, AnAllocationLastsUntilItIsGivenBack) {
  OneMachine one;
  const uint32_t job_id = one.submit("", [](JobSpec& spec) { spec.set_interactive(true); });
  one.run_for(seconds(60));
  one.restart_daemon();
  one.run_for(seconds(60));
  EXPECT_EQ(one.record(job_id).state(), JOB_RUNNING);
  rpc::ClientMessage back;
  back.mutable_complete_allocation()->set_job_id(job_id);
  EXPECT_EQ(one.outcome_of(back), 0u);
  one.run_for(seconds(5));
  EXPECT_EQ(one.record(job_id).state(), JOB_COMPLETE);
}

TEST(Restart, AStepIsAccountedForThoughItsJobEndedMeanwhile) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=30");
  one.run_for(seconds(5));
  one.run_step(job_id, "run=1000");
  one.kill_daemon();
  one.run_for(seconds(60));  // the script ends, and the step with it
  one.start_daemon();
  one.run_for(seconds(5));
  size_t steps = 0;
  for (const auto& job : one.accounting()) {
    if (job.job.record.job_id() != job_id) continue;
    EXPECT_EQ(job.job.record.state(), JOB_COMPLETE);
    for (const StepRecord& step : job.steps) steps += step.kind() == STEP_NORMAL;
  }
  EXPECT_EQ(steps, 1u);
}

// The launcher keeps it until then: nobody else knows of it.
TEST(Restart, TheEndOfAStepIsCollectedOnceItIsStored) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=1000");
  one.run_for(seconds(5));
  one.run_step(job_id, "run=5");
  one.hold_commits();
  one.run_for(seconds(10));
  const auto known = [&] {
    return one.host().launcher->table().all().contains({{job_id, 0}, STEP_NORMAL, 0});
  };
  EXPECT_TRUE(known());
  one.restart_daemon();
  one.run_for(seconds(5));
  EXPECT_FALSE(known());
  std::vector<StepRecord> steps;
  for (const auto& job : one.accounting())
    for (const StepRecord& step : job.steps)
      if (step.kind() == STEP_NORMAL) steps.push_back(step);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].state(), JOB_COMPLETE);
  EXPECT_EQ(steps[0].end_time() - steps[0].start_time(), 5);
}

// Its processes have been told to end, and take their time.
TEST(Restart, AJobThatEndsAsNodeFailIsRequeuedByTheNextDaemon) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=100 term=20");
  one.run_for(seconds(5));
  one.engine().core().cluster_events.tell(&ClusterListener::node_down, "node1");
  one.run_for(seconds(5));
  ASSERT_TRUE(one.record(job_id).completing());
  one.restart_daemon();
  one.run_for(seconds(300));
  EXPECT_EQ(one.record(job_id).state(), JOB_COMPLETE);
  EXPECT_EQ(runs_of(one, job_id), (std::vector<uint32_t>{0, 1}));
}

// The journal may say of a run that it was lost, while it has forgotten that the next one was launched.
TEST(Restart, ARunThatNobodyKnowsIsOverThoughAnEarlierOneIsKnown) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    OneMachine one;
    const uint32_t job_id = one.submit("run=100");
    one.run_for(seconds(10));
    one.kill_launcher();
    one.run_for(seconds(10));
    ASSERT_EQ(one.record(job_id).restarts(), 1u);
    ASSERT_EQ(one.record(job_id).state(), JOB_RUNNING);
    one.cut_power(seed);
    one.start_daemon();
    one.run_for(seconds(300));
    EXPECT_EQ(one.record(job_id).state(), JOB_COMPLETE) << "seed " << seed;
    EXPECT_GE(one.record(job_id).restarts(), 2u) << "seed " << seed;
  }
}

// The store knows of it, whoever dies then.
TEST(Restart, ARunAfterTheFirstIsLaunchedOnceItsStartIsStored) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=100");
  one.run_for(seconds(10));
  one.hold_commits();
  one.kill_launcher();
  one.run_for(seconds(10));
  ASSERT_EQ(one.record(job_id).restarts(), 1u);
  EXPECT_EQ(one.machine().starts().size(), 1u);
  one.kill_daemon();
  one.kill_launcher();
  one.commit_delay = milliseconds(1);
  one.start_daemon();
  one.run_for(seconds(300));
  EXPECT_EQ(one.record(job_id).state(), JOB_COMPLETE);
  EXPECT_EQ(runs_of(one, job_id).size(), 2u);
}

// --requeue=expedite: before all that wait, until the run that follows has ended.
TEST(Restart, AnExpeditedJobThatLostItsNodeStartsBeforeAllOthers) {
  for (const bool expedited : {true, false}) {
    OneMachine one;
    const auto whole = [](JobSpec& spec) { spec.set_exclusive(true); };
    const uint32_t lost = one.submit("run=100", [&](JobSpec& spec) {
      whole(spec);
      spec.set_requeue(true);
      spec.set_expedited_requeue(expedited);
      spec.set_nice(1000);
    });
    one.run_for(seconds(10));
    const uint32_t other = one.submit("run=100", whole);
    const uint32_t before = one.record(lost).priority();
    one.kill_launcher();
    one.run_for(seconds(20));
    ASSERT_EQ(one.record(lost).restarts(), 1u);
    EXPECT_EQ(one.record(lost).state(), expedited ? JOB_RUNNING : JOB_PENDING);
    EXPECT_EQ(one.record(other).state(), expedited ? JOB_PENDING : JOB_RUNNING);
    EXPECT_EQ(one.record(lost).priority(), expedited ? 4294967294u : before);
    if (!expedited) continue;
    rpc::ClientMessage again;
    again.mutable_requeue()->add_jobs()->set_job_id(lost);
    EXPECT_EQ(one.outcome_of(again), 0u);
    one.run_for(seconds(20));
    EXPECT_EQ(one.record(other).state(), JOB_RUNNING);
    EXPECT_EQ(one.record(lost).priority(), before);
  }
}

// The store has it as ended: a daemon that comes back does not look for it.
TEST(Restart, AJobThatEndedAndIsRequeuedRunsOnceForEachRequeue) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=5");
  one.run_for(seconds(10));
  ASSERT_EQ(one.record(job_id).state(), JOB_COMPLETE);
  one.hold_commits();
  one.send(requeue(job_id));
  one.run_for(seconds(30));
  ASSERT_EQ(one.record(job_id).restarts(), 1u);
  one.restart_daemon();
  EXPECT_EQ(one.record(job_id).restarts(), 0u);
  EXPECT_EQ(one.outcome_of(requeue(job_id)), 0u);
  one.run_for(seconds(30));
  EXPECT_EQ(one.record(job_id).state(), JOB_COMPLETE);
  EXPECT_EQ(runs_of(one, job_id), (std::vector<uint32_t>{0, 1}));
}

// Of a launch that failed, was tried again and succeeded, the launcher may know the failure alone.
TEST(Restart, ALaunchThatFailedIsNotTriedAgainAfterAPowerCut) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    OneMachine one;
    one.submit("run=10");
    one.run_for(milliseconds(9800));
    const uint32_t job_id = one.submit("run=10", [](JobSpec& spec) { spec.set_requeue(false); });
    ASSERT_TRUE(one.run_until([&] {
      const auto stored = one.engine().store().job(job_id);
      return stored && *stored && (*stored)->record.state() == JOB_RUNNING;
    }));
    one.disk().set_full(true);
    one.run_for(milliseconds(100));
    one.disk().set_full(false);
    one.run_for(milliseconds(200));  // the launcher notes the failure with the end of the other
    one.kill_daemon();               // and syncs its journal
    one.run_for(seconds(1));
    ASSERT_EQ(runs_of(one, job_id).size(), 0u);
    one.start_daemon();
    one.run_for(seconds(5));
    ASSERT_EQ(runs_of(one, job_id).size(), 1u);
    one.cut_power(seed);
    one.start_daemon();
    one.run_for(seconds(300));
    EXPECT_EQ(runs_of(one, job_id).size(), 1u) << "seed " << seed;
    EXPECT_EQ(one.record(job_id).state(), JOB_NODE_FAIL) << "seed " << seed;
  }
}

// Or a daemon that comes back finds two jobs in one place.
TEST(Restart, ASuspendedJobLendsItsProcessorsOnceThatIsStored) {
  OneMachine one;
  const auto whole = [](JobSpec& spec) { spec.set_min_cpus(8), spec.set_cpus_per_task(8); };
  const uint32_t first = one.submit("run=100", whole);
  const uint32_t second = one.submit("run=10", whole);
  one.run_for(seconds(5));
  ASSERT_EQ(one.record(first).state(), JOB_RUNNING);
  ASSERT_EQ(one.record(second).state(), JOB_PENDING);
  one.hold_commits();
  one.send(suspend(first));
  one.run_for(seconds(5));
  EXPECT_EQ(one.record(second).state(), JOB_PENDING);
  one.restart_daemon();
  EXPECT_EQ(one.record(first).state(), JOB_RUNNING);
  EXPECT_EQ(one.record(second).state(), JOB_PENDING);
  EXPECT_EQ(one.outcome_of(suspend(first)), 0u);
  one.run_for(seconds(5));
  EXPECT_EQ(one.record(second).state(), JOB_RUNNING);
  one.run_for(seconds(20));
  EXPECT_EQ(one.outcome_of(resume(first)), 0u);
  one.run_for(seconds(200));
  EXPECT_EQ(one.record(first).state(), JOB_COMPLETE);
  EXPECT_EQ(one.record(second).state(), JOB_COMPLETE);
}

// A job was started, as the store knows, and could not be launched; another has its place, and the store does
// not know it.
TEST(Restart, AJobThatWasNeverLaunchedIsNotLaunchedInThePlaceOfAnother) {
  OneMachine one;
  const auto whole = [](JobSpec& spec) { spec.set_min_cpus(8), spec.set_cpus_per_task(8); };
  const uint32_t other = one.submit("run=100", [&](JobSpec& spec) {
    whole(spec);
    spec.set_begin_time(one.machine().now() + 2);
    spec.set_nice(-1000);
  });
  one.disk().set_no_descriptors(true);
  const uint32_t job_id = one.submit("run=50", whole);
  ASSERT_TRUE(one.run_until([&] {
    const auto stored = one.engine().store().job(job_id);
    return stored && *stored && (*stored)->record.state() == JOB_RUNNING;
  }));
  one.hold_commits();
  one.run_for(seconds(3));
  one.disk().set_no_descriptors(false);
  ASSERT_TRUE(one.run_until([&] { return !one.machine().processes().empty(); }));
  ASSERT_EQ(one.record(other).state(), JOB_RUNNING);
  one.restart_daemon();
  one.run_for(seconds(5));
  EXPECT_EQ(one.record(other).state(), JOB_RUNNING);
  EXPECT_EQ(one.record(job_id).state(), JOB_PENDING);
  one.run_for(seconds(200));
  EXPECT_EQ(one.record(job_id).state(), JOB_COMPLETE);
  EXPECT_EQ(one.machine().starts().size(), 2u);
}

// Nothing of the task has run, and that it was split from its array is stored no more than its start.
TEST(Restart, ATaskThatCouldNotBeLaunchedWaitsInItsArray) {
  OneMachine one;
  const auto whole = [](JobSpec& spec) { spec.set_min_cpus(8), spec.set_cpus_per_task(8); };
  const int64_t begin = one.machine().now();
  one.submit("run=30", [&](JobSpec& spec) {
    whole(spec);
    spec.set_begin_time(begin + 22);
    spec.set_nice(-1000);
  });
  const uint32_t array = one.submit("run=20", [&](JobSpec& spec) {
    whole(spec);
    IndexRange& range = *spec.mutable_array()->add_ranges();
    range.set_first(0), range.set_last(3), range.set_step(1);
  });
  one.run_for(seconds(10));
  one.hold_commits();
  one.disk().set_full(true);
  one.run_for(seconds(11));  // the next one has been started, and its launch refused
  one.kill_daemon();
  one.disk().set_full(false);
  one.run_for(seconds(2));
  one.commit_delay = milliseconds(1);
  one.start_daemon();
  one.run_for(milliseconds(100));
  one.restart_daemon();
  one.run_for(seconds(300));
  size_t completed = 0;
  for (const auto& job : one.accounting())
    completed += job.job.record.array_job_id() == array && job.job.record.state() == JOB_COMPLETE;
  EXPECT_EQ(completed, 4u);
}

// A new launcher tells of a task once more that the daemon has done with.
TEST(Restart, AnArrayGoesOnWhenTheLauncherDies) {
  OneMachine one;
  one.host().delay = [] { return milliseconds(100); };
  one.commit_delay = milliseconds(50);
  const uint32_t array = one.submit("run=20", [](JobSpec& spec) {
    spec.set_min_cpus(8), spec.set_cpus_per_task(8);
    IndexRange& range = *spec.mutable_array()->add_ranges();
    range.set_first(0), range.set_last(3), range.set_step(1);
  });
  const auto completed = [&] {
    size_t count = 0;
    for (const auto& job : one.accounting())
      count += job.job.record.array_job_id() == array && job.job.record.state() == JOB_COMPLETE;
    return count;
  };
  ASSERT_TRUE(one.run_until([&] { return completed() == 1; }));
  one.run_for(milliseconds(70));  // the next one runs, and the launch of the first is about to be collected
  one.kill_launcher();
  one.run_for(seconds(300));
  EXPECT_EQ(completed(), 4u);
}

}  // namespace
}  // namespace minke::engine::simulation
