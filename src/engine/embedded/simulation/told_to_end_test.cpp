// Orders to a job's processes are sent only when their reason is stored, whatever is killed in between.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/core.h"
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

rpc::ClientMessage cancellation(uint32_t job_id) {
  rpc::ClientMessage message;
  message.mutable_signal()->mutable_filter()->add_jobs()->set_job_id(job_id);
  return message;
}

// Something ends a job, and whoever asked has no answer yet.
struct Ending {
  const char* name;
  std::function<void(OneMachine& one, Client& client, uint32_t job_id)> begin;
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
  one.commit_delay = hours(1);
  const auto client = one.engine().connect();
  GetParam().begin(one, *client, job_id);
  one.run_for(seconds(5));
  ASSERT_TRUE(one.record(job_id).completing());
  EXPECT_EQ(one.machine().processes().size(), 1u);
  one.kill_daemon();
  one.commit_delay = milliseconds(1);
  one.start_daemon();
  one.run_for(seconds(200));
  EXPECT_EQ(one.record(job_id).restarts(), 0u);
  EXPECT_EQ(one.record(job_id).state(), JOB_TIMEOUT);
}

TEST_P(ToldToEnd, TheNextDaemonEndsItWhereTheDaemonIsKilledOnceItIsStoredWhy) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=100", [](JobSpec& spec) { spec.set_time_limit_minutes(1); });
  one.run_for(seconds(50));
  one.commit_delay = hours(1);
  const auto client = one.engine().connect();
  GetParam().begin(one, *client, job_id);
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
  const auto client = one.engine().connect();
  GetParam().begin(one, *client, job_id);
  one.run_for(seconds(5));
  EXPECT_EQ(one.machine().processes().size(), 0u);
}

const Ending kEndings[] = {
    {"Cancelled",
     [](OneMachine&, Client& client, uint32_t job_id) { client.ask(cancellation(job_id), nullptr); },
     JOB_CANCELLED},
    {"Requeued",
     [](OneMachine&, Client& client, uint32_t job_id) {
       rpc::ClientMessage message;
       message.mutable_requeue()->add_jobs()->set_job_id(job_id);
       client.ask(message, nullptr);
     },
     JOB_TIMEOUT, 1},
    {"OverItsTime", [](OneMachine& one, Client&, uint32_t) { one.run_for(seconds(12)); }, JOB_TIMEOUT},
    {"NodeDown",
     [](OneMachine& one, Client&, uint32_t) {
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
  rpc::ClientMessage message;
  message.mutable_suspend()->add_jobs()->set_job_id(job_id);
  ASSERT_EQ(one.outcome_of(message), 0u);
  const auto stopped = [&] { return one.machine().processes().begin()->second.stopped; };
  one.run_for(seconds(1));
  ASSERT_TRUE(stopped());
  one.commit_delay = hours(1);
  message.mutable_suspend()->set_resume(true);
  const auto client = one.engine().connect();
  client->ask(message, nullptr);
  one.run_for(seconds(5));
  EXPECT_TRUE(stopped());
  one.kill_daemon();
  one.commit_delay = milliseconds(1);
  one.start_daemon();
  EXPECT_EQ(one.record(job_id).state(), JOB_SUSPENDED);
  EXPECT_EQ(one.outcome_of(message), 0u);
  one.run_for(seconds(200));
  EXPECT_EQ(one.record(job_id).state(), JOB_COMPLETE);
}

TEST(ToldToGoOn, TheNextDaemonLetsItGoOnWhereTheDaemonIsKilledOnceItIsStored) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=100");
  one.run_for(seconds(5));
  rpc::ClientMessage message;
  message.mutable_suspend()->add_jobs()->set_job_id(job_id);
  ASSERT_EQ(one.outcome_of(message), 0u);
  one.run_for(seconds(1));
  one.commit_delay = hours(1);
  message.mutable_suspend()->set_resume(true);
  const auto client = one.engine().connect();
  client->ask(message, nullptr);
  one.run_for(seconds(5));
  one.kill_daemon(std::numeric_limits<size_t>::max());
  one.commit_delay = milliseconds(1);
  one.start_daemon();
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
  const auto client = one.engine().connect();
  client->ask(cancellation(job_id), nullptr);
  one.run_for(hours(3));
  EXPECT_EQ(one.record(job_id).state(), JOB_CANCELLED);
  EXPECT_TRUE(one.machine().starts().empty());
}

}  // namespace
}  // namespace minke::engine::simulation
