// What happens to a job in each of its states after an event that nobody asked for: its program is killed,
// its time is over, its node goes down, the daemon or the launcher dies, the power goes. Together with
// job_states_test.cpp, which has the requests, this is the table of a job's life.
#include <gtest/gtest.h>

#include <csignal>

#include "api/actions.pb.h"
#include "api/field.pb.h"
#include "api/job_filter.pb.h"
#include "api/updates.pb.h"
#include "engine/embedded/simulation/one_machine.h"
#include "rpc/messages.pb.h"
#include "store/job_row.h"

namespace minke::engine::simulation {
namespace {

using namespace model;
using std::chrono::minutes;
using std::chrono::seconds;

enum Situation {
  kWaiting,
  kHeld,
  kRunning,
  kOnlyOnce,
  kSuspended,
  kCompleting,
  kOver
};  // kOnlyOnce: --no-requeue
enum Event { kProgramKilled, kTimePasses, kNodeDown, kDaemonDies, kLauncherDies, kPowerCut };

struct Row {
  Situation situation;
  Event event;
  JobState state;  // some minutes later
  StateReason reason = WAIT_NO_REASON;
  uint32_t restarts = 0;
};

class JobFates : public testing::TestWithParam<Row> {
 protected:
  void bring_to(Situation situation) {
    job_id_ = one_.submit(situation == kOver ? "run=0" : "run=100000 term=20", [&](JobSpec& spec) {
      spec.set_time_limit_minutes(60);
      if (situation == kWaiting) spec.set_begin_time(1'800'000'000);
      if (situation == kHeld) spec.set_hold(true);
      if (situation == kOnlyOnce) spec.set_requeue(false);
    });
    one_.run_for(seconds(5));
    rpc::ClientMessage message;
    if (situation == kSuspended) message.mutable_suspend()->add_jobs()->set_job_id(job_id_);
    if (situation == kCompleting) message.mutable_signal()->mutable_filter()->add_jobs()->set_job_id(job_id_);
    if (message.body_case() != rpc::ClientMessage::BODY_NOT_SET) {
      EXPECT_EQ(one_.outcome_of(message), 0u);
    }
    one_.run_for(seconds(5));
  }

  void happen(Event event) {
    switch (event) {
      case kProgramKilled:
        for (const uint32_t pid : one_.machine().pids_of({job_id_, 0})) one_.machine().signal(pid, SIGKILL);
        break;
      case kTimePasses:
        one_.run_for(minutes(31));  // twice: it is looked at for an hour at most
        one_.run_for(minutes(31));
        break;
      case kNodeDown: {
        rpc::ClientMessage message;
        message.mutable_update_node()->set_node_list("node1");
        for (const auto& [name, value] : {std::pair{"State", "DOWN"}, {"Reason", "smoke"}}) {
          api::Field& field = *message.mutable_update_node()->add_fields();
          field.set_name(name);
          field.set_value(value);
        }
        EXPECT_EQ(one_.outcome_of(message), 0u);
        break;
      }
      case kDaemonDies:
        one_.kill_daemon();
        one_.start_daemon();
        break;
      case kLauncherDies:
        one_.kill_launcher();
        break;
      case kPowerCut:
        one_.cut_power();
        one_.start_daemon();
        break;
    }
  }

  OneMachine one_;
  uint32_t job_id_ = 0;
};

TEST_P(JobFates, AreAsTheTableSays) {
  const Row& row = GetParam();
  bring_to(row.situation);
  happen(row.event);
  one_.run_for(minutes(5));  // KillWait is over, and the time for which what is requeued waits
  const JobRecord record = one_.record(job_id_);
  EXPECT_EQ(record.state(), row.state) << "reason " << record.reason();
  EXPECT_EQ(record.restarts(), row.restarts);
  if (row.state >= JOB_COMPLETE) {
    EXPECT_EQ(record.reason(), row.reason);
  }
  EXPECT_FALSE(record.completing());
  EXPECT_EQ(record.priority() == 0, row.situation == kHeld);
  EXPECT_EQ(one_.machine().pids_of({job_id_, row.restarts}).size(),
            record.state() == JOB_RUNNING || record.state() == JOB_SUSPENDED ? 1u : 0u);
  // Each run that was lost is in the record, and no other.
  uint32_t lost = 0;
  for (const store::AccountedJob& run : one_.accounting())
    lost += run.job.record.restarts() < row.restarts && run.job.record.state() == JOB_NODE_FAIL;
  EXPECT_EQ(lost, row.restarts);
  if (record.state() == JOB_PENDING || row.restarts > 0) return;
  // It ran once.
  EXPECT_EQ(one_.machine().starts().size(), 1u);
}

const Row kTable[] = {
    {kWaiting, kTimePasses, JOB_PENDING},
    {kWaiting, kNodeDown, JOB_PENDING},
    {kWaiting, kDaemonDies, JOB_PENDING},
    {kWaiting, kLauncherDies, JOB_PENDING},
    {kWaiting, kPowerCut, JOB_PENDING},
    {kHeld, kTimePasses, JOB_PENDING},
    {kHeld, kNodeDown, JOB_PENDING},
    {kHeld, kDaemonDies, JOB_PENDING},
    {kHeld, kLauncherDies, JOB_PENDING},
    {kHeld, kPowerCut, JOB_PENDING},
    {kRunning, kProgramKilled, JOB_FAILED, FAIL_SIGNAL},
    {kRunning, kTimePasses, JOB_TIMEOUT, FAIL_TIMEOUT},
    {kRunning, kNodeDown, JOB_PENDING, WAIT_NO_REASON, 1},
    {kRunning, kDaemonDies, JOB_RUNNING},
    {kRunning, kLauncherDies, JOB_RUNNING, WAIT_NO_REASON, 1},
    {kRunning, kPowerCut, JOB_RUNNING, WAIT_NO_REASON, 1},
    {kOnlyOnce, kProgramKilled, JOB_FAILED, FAIL_SIGNAL},
    {kOnlyOnce, kTimePasses, JOB_TIMEOUT, FAIL_TIMEOUT},
    {kOnlyOnce, kNodeDown, JOB_NODE_FAIL, FAIL_DOWN_NODE},
    {kOnlyOnce, kDaemonDies, JOB_RUNNING},
    {kOnlyOnce, kLauncherDies, JOB_NODE_FAIL, FAIL_DOWN_NODE},
    {kOnlyOnce, kPowerCut, JOB_NODE_FAIL, FAIL_DOWN_NODE},
    {kSuspended, kProgramKilled, JOB_FAILED, FAIL_SIGNAL},
    {kSuspended, kTimePasses, JOB_SUSPENDED},  // it does not count
    {kSuspended, kNodeDown, JOB_PENDING, WAIT_NO_REASON, 1},
    {kSuspended, kDaemonDies, JOB_SUSPENDED},
    {kSuspended, kLauncherDies, JOB_RUNNING, WAIT_NO_REASON, 1},
    {kSuspended, kPowerCut, JOB_RUNNING, WAIT_NO_REASON, 1},
    {kCompleting, kProgramKilled, JOB_CANCELLED},
    {kCompleting, kTimePasses, JOB_CANCELLED},
    {kCompleting, kNodeDown, JOB_CANCELLED},
    {kCompleting, kDaemonDies, JOB_CANCELLED},
    {kCompleting, kLauncherDies, JOB_CANCELLED},
    {kCompleting, kPowerCut, JOB_CANCELLED},
    {kOver, kNodeDown, JOB_COMPLETE},
    {kOver, kDaemonDies, JOB_COMPLETE},
    {kOver, kLauncherDies, JOB_COMPLETE},
    {kOver, kPowerCut, JOB_COMPLETE},
};

std::string name_of(const testing::TestParamInfo<Row>& row) {
  static const char* const situations[] = {"Waiting",   "Held",       "Running", "OnlyOnce",
                                           "Suspended", "Completing", "Over"};
  static const char* const events[] = {"ProgramKilled", "TimePasses",   "NodeDown",
                                       "DaemonDies",    "LauncherDies", "PowerCut"};
  return std::string(situations[row.param.situation]) + events[row.param.event];
}

INSTANTIATE_TEST_SUITE_P(Table, JobFates, testing::ValuesIn(kTable), name_of);

}  // namespace
}  // namespace minke::engine::simulation
