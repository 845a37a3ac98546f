// Orders to a job's processes are sent only when their reason is stored, whatever is killed in between.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "api/actions.pb.h"
#include "engine/embedded/core.h"
#include "engine/embedded/simulation/job_requests.h"
#include "engine/embedded/simulation/one_machine.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "rpc/messages.pb.h"

namespace minke::engine::simulation {
namespace {

using namespace model;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Something ends a job, and whoever asked has no answer yet.
struct Ending {
  const char* name;
  std::function<void(OneMachine& one, uint32_t job_id)> begin;
  // Once that is stored.
  JobState in_the_end;
  uint32_t restarts = 0;
};

class ToldToEnd : public testing::TestWithParam<Ending> {};

TEST_P(ToldToEnd, ItRunsOnWhereTheDaemonIsKilledBeforeItIsStoredWhy) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=100", [](JobSpec& spec) { spec.set_time_limit_minutes(1); });
  one.run_for(seconds(50));
  ASSERT_EQ(one.record(job_id).state(), JOB_RUNNING);
  one.hold_commits();
  GetParam().begin(one, job_id);
  one.run_for(seconds(5));
  ASSERT_TRUE(one.record(job_id).completing());
  EXPECT_EQ(one.machine().processes().size(), 1u);
  one.restart_daemon();
  one.run_for(seconds(200));
  EXPECT_EQ(one.record(job_id).restarts(), 0u);
  EXPECT_EQ(one.record(job_id).state(), JOB_TIMEOUT);
}

TEST_P(ToldToEnd, TheNextDaemonEndsItWhereTheDaemonIsKilledOnceItIsStoredWhy) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=100", [](JobSpec& spec) { spec.set_time_limit_minutes(1); });
  one.run_for(seconds(50));
  one.hold_commits();
  GetParam().begin(one, job_id);
  one.run_for(seconds(5));
  one.kill_daemon(std::numeric_limits<size_t>::max());
  EXPECT_EQ(one.machine().processes().size(), 1u);
  one.commit_delay = milliseconds(1);
  one.start_daemon();
  one.run_for(seconds(400));
  EXPECT_EQ(one.record(job_id).state(), GetParam().in_the_end);
  EXPECT_EQ(one.record(job_id).restarts(), GetParam().restarts);
}

TEST_P(ToldToEnd, ItEndsThoughTheDiskIsFull) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=100", [](JobSpec& spec) { spec.set_time_limit_minutes(1); });
  one.run_for(seconds(50));
  one.disk().set_full(true);
  GetParam().begin(one, job_id);
  one.run_for(seconds(5));
  EXPECT_EQ(one.machine().processes().size(), 0u);
}

const Ending kEndings[] = {
    {"Cancelled", [](OneMachine& one, uint32_t job_id) { one.send(cancel(job_id)); }, JOB_CANCELLED},
    {"Requeued", [](OneMachine& one, uint32_t job_id) { one.send(requeue(job_id)); }, JOB_TIMEOUT, 1},
    {"OverItsTime", [](OneMachine& one, uint32_t) { one.run_for(seconds(12)); }, JOB_TIMEOUT},
    {"NodeDown",
     [](OneMachine& one, uint32_t) {
       one.engine().core().cluster_events.tell(&ClusterListener::node_down, "node1");
     },
     JOB_TIMEOUT, 1},
};

INSTANTIATE_TEST_SUITE_P(Ways, ToldToEnd, testing::ValuesIn(kEndings),
                         [](const auto& one) { return std::string(one.param.name); });

// Its processors are its own again at once; it goes on when the next daemon would know that.
TEST(ToldToGoOn, ASuspendedJobGoesOnOnceThatIsStored) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=100");
  one.run_for(seconds(5));
  ASSERT_EQ(one.outcome_of(suspend(job_id)), 0u);
  const auto stopped = [&] { return one.machine().processes().begin()->second.stopped; };
  one.run_for(seconds(1));
  ASSERT_TRUE(stopped());
  one.hold_commits();
  one.send(resume(job_id));
  one.run_for(seconds(5));
  EXPECT_TRUE(stopped());
  one.restart_daemon();
  EXPECT_EQ(one.record(job_id).state(), JOB_SUSPENDED);
  EXPECT_EQ(one.outcome_of(resume(job_id)), 0u);
  one.run_for(seconds(200));
  EXPECT_EQ(one.record(job_id).state(), JOB_COMPLETE);
}

TEST(ToldToGoOn, TheNextDaemonLetsItGoOnWhereTheDaemonIsKilledOnceItIsStored) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=100");
  one.run_for(seconds(5));
  ASSERT_EQ(one.outcome_of(suspend(job_id)), 0u);
  one.run_for(seconds(1));
  one.hold_commits();
  one.send(resume(job_id));
  one.run_for(seconds(5));
  one.restart_daemon(OneMachine::Held::kStored);
  one.run_for(seconds(200));
  EXPECT_EQ(one.record(job_id).state(), JOB_COMPLETE);
}

TEST(NotYetLaunched, AJobThatIsCancelledWhileItsStartIsBeingStoredIsNotLaunched) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=100", [&](JobSpec& spec) {
    spec.set_requeue(false);
    spec.set_begin_time(one.machine().now() + 5);
  });
  one.run_for(seconds(1));
  one.commit_delay = hours(1);
  ASSERT_TRUE(one.run_until([&] { return one.record(job_id).state() == JOB_RUNNING; }));
  one.send(cancel(job_id));
  one.run_for(hours(3));
  EXPECT_EQ(one.record(job_id).state(), JOB_CANCELLED);
  EXPECT_TRUE(one.machine().starts().empty());
}

}  // namespace
}  // namespace minke::engine::simulation
