// Repeated requests whose answer was lost with the daemon: an action that was carried out is
// neither refused nor done twice.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>

#include "api/accounts.pb.h"
#include "api/actions.pb.h"
#include "api/field.pb.h"
#include "api/job_filter.pb.h"
#include "api/triggers.pb.h"
#include "api/updates.pb.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/reservations.h"
#include "engine/embedded/simulation/job_requests.h"
#include "engine/embedded/simulation/one_machine.h"
#include "engine/embedded/state/answered_requests.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/trigger.pb.h"
#include "rpc/messages.pb.h"

namespace minke::engine::simulation {
namespace {

using namespace model;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

using Request = std::function<rpc::ClientMessage(uint32_t job_id)>;

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
    one_.hold_commits();
    one_.send(row.request(job_id_));
    one_.run_for(milliseconds(100));
    one_.restart_daemon(OneMachine::Held::kStored);
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
    {"ReleaseThenItEnded", release, kHeld, !kSuspended, kAfterItsEnd, kJobFinished, JOB_COMPLETE},
    {"Hold", hold, kHeld, !kSuspended, kSoon, 0, JOB_PENDING},
    {"HoldThenItEnded", hold, !kHeld, !kSuspended, kAfterItsEnd, kJobFinished, JOB_COMPLETE},
    {"RequeueAndItWaits", requeue, !kHeld, !kSuspended, 1, kJobPending, JOB_PENDING, 1},
    {"RequeueAndItRunsAgain", requeue, !kHeld, !kSuspended, kRunsAgain, 0, JOB_RUNNING, 1},
    {"RequeueAndItHasEndedAgain", requeue, !kHeld, !kSuspended, kAfterItsEnd, 0, JOB_COMPLETE, 1},
    {"RequeueAndHold", requeue_and_hold, !kHeld, !kSuspended, kAfterItsEnd, kJobPending, JOB_PENDING, 1},
    {"RequeueAsSpecial", requeue_as_special, !kHeld, !kSuspended, kSoon, kJobPending, JOB_PENDING, 1},
    {"Suspend", suspend, !kHeld, !kSuspended, kSoon, 0, JOB_SUSPENDED},
    {"Resume", resume, !kHeld, kSuspended, kSoon, kJobNotSuspended, JOB_RUNNING},
    {"ResumeThenItEnded", resume, !kHeld, kSuspended, kAfterItsEnd, kAlreadyDone, JOB_COMPLETE},
};

INSTANTIATE_TEST_SUITE_P(Requests, Resent, testing::ValuesIn(kRows),
                         [](const auto& one) { return std::string(one.param.name); });

// One that had ended when it was asked for.
TEST(ResentLate, AnEndedJobIsRequeuedAndHeldOnce) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=1");
  one.run_for(seconds(10));
  ASSERT_EQ(one.record(job_id).state(), JOB_COMPLETE);
  const int64_t sent = one.machine().now();
  one.hold_commits();
  one.send(requeue_and_hold(job_id));
  one.run_for(milliseconds(100));
  one.restart_daemon(OneMachine::Held::kStored);
  ASSERT_EQ(one.outcome_of(release(job_id)), 0u);
  one.run_for(seconds(60));
  ASSERT_EQ(one.record(job_id).restarts(), 1u);
  rpc::ClientMessage again = requeue_and_hold(job_id);
  again.set_first_sent(sent);
  EXPECT_EQ(one.outcome_of(again), 0u);
  one.run_for(seconds(60));
  EXPECT_EQ(one.record(job_id).restarts(), 1u);
  EXPECT_EQ(one.record(job_id).state(), JOB_COMPLETE);
}

// Requests that nothing tells of whether they were carried out: they have a key.
struct Keyed {
  const char* name;
  std::function<rpc::ClientMessage(OneMachine& one)> request;
  std::function<void(OneMachine& one)> before = nullptr;
  bool refused = true;  // under another key
  bool adds = false;    // under another key, it is another then
};

class ResentUnderItsKey : public testing::TestWithParam<Keyed> {
 protected:
  // What the daemon has of such things.
  std::string all() {
    std::string text;
    for (const auto& reservation : one_.engine().core().reservations->all())
      text += reservation.SerializeAsString();
    for (const auto& partition : one_.engine().core().nodes->partitions())
      text += partition.SerializeAsString();
    rpc::ClientMessage message;
    message.mutable_query_triggers();
    return text + one_.ask(message).triggers().SerializeAsString();
  }

  OneMachine one_;
};

TEST_P(ResentUnderItsKey, ItIsDoneOnceAndAnsweredTheSame) {
  if (GetParam().before) GetParam().before(one_);
  rpc::ClientMessage message = GetParam().request(one_);
  message.set_key("0123456789abcdef");
  one_.hold_commits();
  one_.send(message);
  one_.run_for(milliseconds(100));
  one_.restart_daemon(OneMachine::Held::kStored);
  const std::string before = all();
  message.set_first_sent(one_.machine().now());
  const rpc::ServerMessage answer = one_.ask(message);
  EXPECT_TRUE(answer.has_action()) << answer.error().message() << answer.error().detail();
  EXPECT_EQ(answer.action().failures_size(), 0);
  EXPECT_EQ(all(), before);
  EXPECT_EQ(one_.ask(message).action().SerializeAsString(), answer.action().SerializeAsString());
  message.set_key("fedcba9876543210");
  EXPECT_EQ(one_.outcome_of(message) != 0, GetParam().refused);
  EXPECT_EQ(all() != before, GetParam().adds);
}

void add(google::protobuf::RepeatedPtrField<api::Field>& list,
         std::initializer_list<std::pair<const char*, const char*>> fields) {
  for (const auto& [name, value] : fields) {
    list.Add()->set_name(name);
    list.rbegin()->set_value(value);
  }
}
rpc::ClientMessage reservation(api::Change change, const std::string& name) {
  rpc::ClientMessage message;
  message.mutable_update_reservation()->set_change(change);
  message.mutable_update_reservation()->set_name(name);
  if (change == api::CREATE)
    add(*message.mutable_update_reservation()->mutable_fields(),
        {{"StartTime", "now+3600"}, {"Duration", "60"}, {"Users", "root"}, {"CoreCnt", "1"}});
  return message;
}
rpc::ClientMessage partition(api::Change change) {
  rpc::ClientMessage message;
  message.mutable_update_partition()->set_change(change);
  message.mutable_update_partition()->set_name("more");
  return message;
}
rpc::ClientMessage trigger() {
  rpc::ClientMessage message;
  Trigger& trigger = *message.mutable_set_triggers()->add_triggers();
  trigger.set_event(TRIGGER_NODE_DOWN);
  trigger.set_program("/bin/page");
  return message;
}

const Keyed kKeyed[] = {
    {"CreateReservation", [](auto&) { return reservation(api::CREATE, "course"); }},
    {"CreateReservationWithoutAName", [](auto&) { return reservation(api::CREATE, ""); }, nullptr, false,
     true},
    {"DeleteReservation", [](auto&) { return reservation(api::DELETE, "course"); },
     [](OneMachine& one) { ASSERT_EQ(one.outcome_of(reservation(api::CREATE, "course")), 0u); }},
    {"CreatePartition", [](auto&) { return partition(api::CREATE); }, nullptr, false, true},
    {"DeletePartition", [](auto&) { return partition(api::DELETE); },
     [](OneMachine& one) { ASSERT_EQ(one.outcome_of(partition(api::CREATE)), 0u); }},
    {"SetTrigger", [](auto&) { return trigger(); }},
    {"ClearTrigger",
     [](auto&) {
       rpc::ClientMessage message;
       message.mutable_clear_triggers()->set_id(1);
       return message;
     },
     [](OneMachine& one) { ASSERT_EQ(one.outcome_of(trigger()), 0u); }},
    {"ChangeAccounts",
     [](OneMachine& one) {
       rpc::ClientMessage message;
       message.mutable_update_accounts()->set_version(one.engine().core().accounts->book().version());
       message.mutable_update_accounts()->add_accounts()->set_name("lab");
       return message;
     },
     nullptr, false},
};

INSTANTIATE_TEST_SUITE_P(Requests, ResentUnderItsKey, testing::ValuesIn(kKeyed),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(Keys, AreTheirSendersAndOfOneLength) {
  OneMachine one;
  rpc::ClientMessage message = trigger();
  message.set_key("short");
  EXPECT_EQ(one.outcome_of(message), uint32_t{kInternal});
  const auto& answered = *one.engine().core().answered;
  const uint32_t uid = ::geteuid();
  message.set_key("0123456789abcdef");
  EXPECT_EQ(one.outcome_of(message), 0u);
  EXPECT_TRUE(answered.find(message.key(), uid)->has_value());
  EXPECT_FALSE(answered.find(message.key(), uid + 1)->has_value());
  one.clock_offset = 2 * 3600;
  rpc::ClientMessage other = reservation(api::CREATE, "course");
  other.set_key("fedcba9876543210");
  EXPECT_EQ(one.outcome_of(other), 0u);
  EXPECT_FALSE(answered.find(message.key(), uid)->has_value()) << "it is forgotten";
}

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
  EXPECT_EQ(one.outcome_of(again), uint32_t{kJobFinished});
}

}  // namespace
}  // namespace minke::engine::simulation
