// What a daemon that comes back makes of what it finds: in the store, and at the launcher.
#include <gtest/gtest.h>

#include <set>

#include "engine/embedded/simulation/one_machine.h"
#include "rpc/messages.pb.h"

namespace minke::engine::simulation {
namespace {

using namespace model;
using std::chrono::seconds;

TEST(Restart, AnAllocationLastsUntilItIsGivenBack) {
  OneMachine one;
  const uint32_t job_id = one.submit("", [](JobSpec& spec) { spec.set_interactive(true); });
  one.run_for(seconds(60));
  one.kill_daemon();
  one.start_daemon();
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

// Runs that nothing of is stored yet are found one after the other.
TEST(Restart, ARunThatBeganBeforeTheEndOfTheLastWasStoredIsNotRepeated) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=100");
  one.run_for(seconds(10));
  one.commit_delay = std::chrono::hours(1);
  one.kill_launcher();
  one.run_for(seconds(10));
  ASSERT_EQ(one.record(job_id).restarts(), 1u);
  ASSERT_EQ(one.machine().starts().size(), 2u);
  one.kill_daemon();
  one.kill_launcher();
  one.commit_delay = std::chrono::milliseconds(1);
  one.start_daemon();
  one.run_for(seconds(300));
  EXPECT_EQ(one.record(job_id).state(), JOB_COMPLETE);
  std::set<uint32_t> runs;
  for (const Start& start : one.machine().starts())
    EXPECT_TRUE(runs.insert(start.launch.job.run).second) << "run " << start.launch.job.run;
}

// The same after a power cut: the launcher does not know the first of them any more.
TEST(Restart, ARunIsNotRepeatedWhereTheOneBeforeItWasForgotten) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    OneMachine one;
    const uint32_t job_id = one.submit("run=100");
    one.run_for(seconds(10));
    one.cut_power(seed);
    one.commit_delay = std::chrono::hours(2);
    one.start_daemon();
    one.run_for(seconds(10));
    ASSERT_EQ(one.record(job_id).restarts(), 1u);
    ASSERT_EQ(one.machine().starts().size(), 2u);
    one.kill_daemon();
    one.run_for(seconds(200));  // it ends
    one.commit_delay = std::chrono::milliseconds(1);
    one.start_daemon();
    one.run_for(seconds(300));
    EXPECT_EQ(one.record(job_id).state(), JOB_COMPLETE);
    EXPECT_EQ(one.record(job_id).restarts(), 1u);
    EXPECT_EQ(one.machine().starts().size(), 2u) << "seed " << seed;
  }
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
  one.commit_delay = std::chrono::hours(2);
  one.run_for(seconds(3));
  one.disk().set_no_descriptors(false);
  ASSERT_TRUE(one.run_until([&] { return !one.machine().processes().empty(); }));
  ASSERT_EQ(one.record(other).state(), JOB_RUNNING);
  one.kill_daemon();
  one.commit_delay = std::chrono::milliseconds(1);
  one.start_daemon();
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
  one.commit_delay = std::chrono::hours(2);
  one.disk().set_full(true);
  one.run_for(seconds(11));  // the next one has been started, and its launch refused
  one.kill_daemon();
  one.disk().set_full(false);
  one.run_for(seconds(2));
  one.commit_delay = std::chrono::milliseconds(1);
  one.start_daemon();
  one.run_for(std::chrono::milliseconds(100));
  one.kill_daemon();
  one.start_daemon();
  one.run_for(seconds(300));
  size_t completed = 0;
  for (const auto& job : one.accounting())
    completed += job.job.record.array_job_id() == array && job.job.record.state() == JOB_COMPLETE;
  EXPECT_EQ(completed, 4u);
}

}  // namespace
}  // namespace minke::engine::simulation
