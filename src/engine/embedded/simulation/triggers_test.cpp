// strigger: which events fire a trigger, when its program runs with which arguments, and that it runs once.
#include "engine/embedded/watching/triggers.h"
#include "api/updates.pb.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "api/triggers.pb.h"
#include "engine/embedded/simulation/programs.h"
#include "engine/embedded/simulation/request_test.h"
#include "model/error.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

class TriggersTest : public RequestTest {
 protected:
  static rpc::RequestEnvelope setting(TriggerEvent event,
                                      const std::function<void(Trigger&)>& more = nullptr) {
    rpc::RequestEnvelope message;
    Trigger& trigger = *message.body<api::SetTriggersRequest>().add_triggers();
    trigger.set_event(event);
    trigger.set_program("/bin/page");
    if (more) more(trigger);
    return message;
  }
  uint32_t set(TriggerEvent event, const std::function<void(Trigger&)>& more = nullptr) {
    return outcome(kRoot, setting(event, more));
  }
  static std::function<void(Trigger&)> of_job(uint32_t job, int32_t offset = 0) {
    return [=](Trigger& trigger) {
      trigger.set_job_id(job);
      trigger.set_offset(offset);
    };
  }
  void node(const char* list, const char* state) {
    rpc::RequestEnvelope message;
    message.body<api::UpdateNodeRequest>().set_node_list(list);
    for (const auto& [name, value] : {std::pair{"State", state}, {"Reason", "a fan"}}) {
      api::Field& field = *message.body<api::UpdateNodeRequest>().add_fields();
      field.set_name(name);
      field.set_value(value);
    }
    EXPECT_EQ(outcome(kRoot, message), 0u) << what_was_said();
    engine().pass(1);
  }
  uint32_t run(uint32_t minutes = 60) {
    return submit(kAlice, [=](JobSpec& spec) {
      spec.set_exclusive(true);
      spec.set_time_limit_minutes(minutes);
    });
  }
  int there() {
    rpc::RequestEnvelope message;
    message.body<api::QueryTriggersRequest>();
    return ask(kRoot, message).read<api::TriggersReply>().triggers_size();
  }
  // What programs were told since it was last asked.
  using Told = std::vector<std::string>;
  Told told() { return std::exchange(told_, {}); }

  std::vector<std::string> last_words_;

 private:
  StandInForPrograms programs_{[this](const os::DetachedCommand& command) -> Result<os::UniqueFd> {
    if (command.argv.at(1) != "trigger-program") return failure("not in this test");
    last_words_ = command.argv;
    told_.push_back(command.argv.at(5));
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const os::UniqueFd over(ends[1]);
    return os::UniqueFd(ends[0]);
  }};
  Told told_;
};

TEST_F(TriggersTest, TheEndOfAJobPullsOnce) {
  const uint32_t job = run(), other = run();
  ASSERT_EQ(set(TRIGGER_JOB_END, of_job(job)), 0u) << what_was_said();
  engine().end_one(1, 0);  // the other
  EXPECT_EQ(state(other), JOB_COMPLETE);
  EXPECT_EQ(told(), Told());
  engine().end_one(0, 1 << 8);
  EXPECT_EQ(told(), Told{std::to_string(job)});
  EXPECT_EQ(last_words_.at(2), "0");  // as who set it
  EXPECT_EQ(last_words_.at(4), "/bin/page");
  EXPECT_EQ(there(), 0);
}

TEST_F(TriggersTest, OffsetsAreFromTheEndAndBeforeTheTimeLimit) {
  const uint32_t job = run(60), ends = run(600);
  ASSERT_EQ(set(TRIGGER_JOB_TIME, of_job(job, -600)), 0u);
  ASSERT_EQ(set(TRIGGER_JOB_END, of_job(ends, 300)), 0u);
  engine().pass(50 * 60 - 1);
  EXPECT_EQ(told(), Told());
  engine().pass(2);
  EXPECT_EQ(told(), Told{std::to_string(job)});
  EXPECT_EQ(outcome(kAlice, cancel(ends)), 0u);
  engine().pass(299);
  EXPECT_EQ(told(), Told());
  restart();  // it has been pulled: the next daemon runs its program
  engine().pass(1);
  EXPECT_EQ(told(), Told{std::to_string(ends)});
  EXPECT_EQ(there(), 0);
}

TEST_F(TriggersTest, AJobThatEndsBeforeItsTimeLimitPullsNothing) {
  const uint32_t job = run(60);
  ASSERT_EQ(set(TRIGGER_JOB_TIME, of_job(job)), 0u);
  engine().end_one(0, 0);
  engine().pass(7200);
  EXPECT_EQ(told(), Told());
  EXPECT_EQ(there(), 0);
}

TEST_F(TriggersTest, NodesThatChange) {
  ASSERT_EQ(set(TRIGGER_NODE_DOWN, [](Trigger& one) { one.set_permanent(true); }), 0u);
  ASSERT_EQ(set(TRIGGER_NODE_UP, [](Trigger& one) { one.set_node_list("n2"); }), 0u);
  node("n[1-2]", "DOWN");
  EXPECT_EQ(told(), Told{"n[1-2]"});
  node("n[1-3]", "DOWN");
  EXPECT_EQ(told(), Told{"n3"});  // the others were down before
  node("n1", "RESUME");
  EXPECT_EQ(told(), Told());
  node("n2", "RESUME");
  EXPECT_EQ(told(), Told{"n2"});
  EXPECT_EQ(there(), 1);
  node("n2", "DOWN");
  EXPECT_EQ(told(), Told{"n2"});
}

TEST_F(TriggersTest, ANodeIsDrainedOnceNothingRunsOnIt) {
  (void)run();
  ASSERT_EQ(set(TRIGGER_NODE_DRAINED), 0u);
  node("n1", "DRAIN");
  EXPECT_EQ(told(), Told());
  engine().end_one(0, 0);
  engine().pass(1);
  EXPECT_EQ(told(), Told{"n1"});
}

TEST_F(TriggersTest, NodesThatStayIdle) {
  ASSERT_EQ(set(TRIGGER_NODE_IDLE,
                [](Trigger& one) {
                  one.set_offset(600);
                  one.set_node_list("n[1-2]");
                  one.set_permanent(true);
                }),
            0u);
  engine().pass(300);
  (void)run();  // on n1
  engine().pass(299);
  EXPECT_EQ(told(), Told());
  engine().pass(1);
  EXPECT_EQ(told(), Told{"n2"});
  engine().end_one(0, 0);
  engine().pass(599);
  EXPECT_EQ(told(), Told());
  engine().pass(1);
  EXPECT_EQ(told(), Told{"n1"});
  engine().pass(10000);
  EXPECT_EQ(told(), Told());  // once for each time that they are
}

// What was before it was set, and what the last daemon did not get to.
TEST_F(TriggersTest, WhatHappenedWhileNobodyLooked) {
  node("n1", "DOWN");
  const uint32_t job = run();
  ASSERT_EQ(set(TRIGGER_NODE_DOWN), 0u);
  engine().pass(10);
  EXPECT_EQ(told(), Told());
  ASSERT_EQ(set(TRIGGER_JOB_END, of_job(job)), 0u);
  restart();
  EXPECT_EQ(there(), 2);
  node("n2", "DOWN");
  EXPECT_EQ(told(), Told{"n2"});
}

TEST_F(TriggersTest, OfANewConfiguration) {
  ASSERT_EQ(set(TRIGGER_RECONFIGURE), 0u);
  core().triggers->reconfigured();
  engine().settle();
  EXPECT_EQ(told().size(), 1u);
  core().triggers->reconfigured();
  engine().settle();
  EXPECT_EQ(told(), Told());
}

TEST_F(TriggersTest, OnesThatCannotBe) {
  const auto relative = [](Trigger& one) { one.set_program("page"); };
  const auto far = [](Trigger& one) { one.set_offset(32001); };
  const auto nowhere = [](Trigger& one) { one.set_node_list("n9"); };
  EXPECT_EQ(set(TRIGGER_NODE_UP, relative), static_cast<uint32_t>(kNotSupported));
  EXPECT_EQ(set(TRIGGER_NODE_UP, far), static_cast<uint32_t>(kNotSupported));
  EXPECT_EQ(set(TRIGGER_NONE), static_cast<uint32_t>(kNotSupported));
  EXPECT_EQ(set(TRIGGER_NODE_UP, nowhere), static_cast<uint32_t>(kInvalidNodeName));
  EXPECT_EQ(set(TRIGGER_JOB_END), static_cast<uint32_t>(kInvalidJobId));
  EXPECT_EQ(set(TRIGGER_JOB_END, of_job(4711)), static_cast<uint32_t>(kInvalidJobId));
  const uint32_t over = run();
  engine().end_one(0, 0);
  EXPECT_EQ(set(TRIGGER_JOB_END, of_job(over)), static_cast<uint32_t>(kAlreadyDone));
  EXPECT_EQ(set(TRIGGER_NODE_UP), 0u);
  EXPECT_NE(set(TRIGGER_NODE_UP), 0u);  // the same once more
  rpc::RequestEnvelope two = setting(TRIGGER_NODE_DOWN);
  *two.body<api::SetTriggersRequest>().add_triggers() =
      setting(TRIGGER_NODE_UP, nowhere).read<api::SetTriggersRequest>().triggers(0);
  EXPECT_NE(outcome(kRoot, two), 0u);
  EXPECT_EQ(there(), 1);  // all of them or none
  rpc::RequestEnvelope clear;
  clear.body<api::ClearTriggersRequest>().set_id(99);
  EXPECT_NE(outcome(kRoot, clear), 0u);
  clear.body<api::ClearTriggersRequest>().set_id(1);
  EXPECT_EQ(outcome(kRoot, clear), 0u) << what_was_said();
  EXPECT_EQ(there(), 0);
}

}  // namespace
}  // namespace minke::engine::simulation
