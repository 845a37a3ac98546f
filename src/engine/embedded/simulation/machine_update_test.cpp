// scontrol update of nodes, partitions and reservations: the effects, and which of
// Slurm's errors a refused update gets.
#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

#include "api/field.pb.h"
#include "api/machine.pb.h"
#include "api/updates.pb.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/reservations.h"
#include "engine/embedded/simulation/request_test.h"
#include "model/cluster.pb.h"
#include "model/error.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

constexpr uint32_t kDone = 0;
using Fields = std::initializer_list<std::pair<const char*, std::string>>;

void add(google::protobuf::RepeatedPtrField<api::Field>& list, Fields fields) {
  for (const auto& [name, value] : fields) {
    api::Field& field = *list.Add();
    field.set_name(name);
    field.set_value(value);
  }
}

class MachineUpdate : public RequestTest {
 protected:
  static rpc::RequestEnvelope node(const std::string& list, Fields fields) {
    rpc::RequestEnvelope message;
    message.body<api::UpdateNodeRequest>().set_node_list(list);
    add(*message.body<api::UpdateNodeRequest>().mutable_fields(), fields);
    return message;
  }
  static rpc::RequestEnvelope partition(api::Change change, const std::string& name, Fields fields) {
    rpc::RequestEnvelope message;
    message.body<api::UpdatePartitionRequest>().set_change(change);
    message.body<api::UpdatePartitionRequest>().set_name(name);
    add(*message.body<api::UpdatePartitionRequest>().mutable_fields(), fields);
    return message;
  }
  static rpc::RequestEnvelope reservation(api::Change change, const std::string& name, Fields fields) {
    rpc::RequestEnvelope message;
    message.body<api::UpdateReservationRequest>().set_change(change);
    message.body<api::UpdateReservationRequest>().set_name(name);
    add(*message.body<api::UpdateReservationRequest>().mutable_fields(), fields);
    return message;
  }
  NodeState state_of(const std::string& name) { return core().nodes->find_node(name)->state(); }
  const ReservationRecord* find(const std::string& name) { return core().reservations->find(name); }
};

struct Transition {
  std::initializer_list<const char*> before;
  const char* given;
  uint32_t error;
  NodeState after;
};

TEST_F(MachineUpdate, StatesOfNodes) {
  const Transition rows[] = {
      {{}, "DRAIN", kDone, NODE_DRAIN},
      {{}, "DOWN", kDone, NODE_DOWN},
      {{}, "RESUME", kInvalidNodeState, NODE_IDLE},
      {{}, "FUTURE", kDone, NODE_FUTURE},
      {{}, "SLEEP", kInvalidNodeState, NODE_IDLE},
      {{"DRAIN"}, "RESUME", kDone, NODE_IDLE},
      {{"DRAIN"}, "UNDRAIN", kDone, NODE_IDLE},
      {{"DRAIN"}, "DOWN", kDone, NODE_DOWN_DRAIN},
      {{"DOWN"}, "RESUME", kDone, NODE_IDLE},
      {{"DOWN"}, "UNDRAIN", kDone, NODE_DOWN},
      {{"DOWN"}, "DRAIN", kDone, NODE_DOWN_DRAIN},
      {{"DOWN", "DRAIN"}, "UNDRAIN", kDone, NODE_DOWN},
      {{"DOWN", "DRAIN"}, "IDLE", kDone, NODE_DRAIN},
      {{"DOWN", "DRAIN"}, "RESUME", kDone, NODE_IDLE},
      {{"DRAIN"}, "NoResp", kDone, NODE_DRAIN},
  };
  for (const Transition& row : rows) {
    for (const char* before : row.before)
      ASSERT_EQ(outcome(kRoot, node("n1", {{"State", before}, {"Reason", "test"}})), kDone);
    EXPECT_EQ(outcome(kRoot, node("n1", {{"State", row.given}, {"Reason", "test"}})), row.error)
        << row.given << ": " << what_was_said();
    EXPECT_EQ(state_of("n1"), row.after) << row.given;
    if (state_of("n1") != NODE_IDLE) {
      ASSERT_EQ(outcome(kRoot, node("n1", {{"State", "RESUME"}})), kDone);
    }
  }
}

TEST_F(MachineUpdate, ANodeThatIsTakenOutNeedsAReason) {
  EXPECT_EQ(outcome(kRoot, node("n1", {{"State", "DRAIN"}})), static_cast<uint32_t>(kInvalidNodeState));
  EXPECT_EQ(outcome(kRoot, node("n1", {{"State", "DRAIN"}, {"Reason", "a fan"}})), kDone);
  EXPECT_EQ(core().nodes->find_node("n1")->reason(), "a fan");
  EXPECT_EQ(core().nodes->find_node("n1")->reason_uid(), kRoot);
  EXPECT_NE(core().nodes->find_node("n1")->reason_time(), 0);
  EXPECT_EQ(outcome(kRoot, node("n1", {{"State", "RESUME"}})), kDone);
  EXPECT_EQ(core().nodes->find_node("n1")->reason(), "");
}

TEST_F(MachineUpdate, WhoMayNotAndWhatIsNotThere) {
  EXPECT_EQ(outcome(kAlice, node("n1", {{"Comment", "x"}})), static_cast<uint32_t>(kAccessDenied));
  EXPECT_EQ(outcome(kRoot, node("n9", {{"Comment", "x"}})), static_cast<uint32_t>(kInvalidNodeName));
  EXPECT_EQ(outcome(kRoot, node("n[1", {{"Comment", "x"}})), static_cast<uint32_t>(kInvalidNodeName));
  EXPECT_EQ(outcome(kRoot, node("n1", {{"CPUs", "99"}})), static_cast<uint32_t>(kNotSupported));
  EXPECT_EQ(outcome(kRoot, node("n1", {{"ActiveFeatures", "gold"}})),
            static_cast<uint32_t>(kActiveFeatureNotSubset));
  // What is not there keeps no other node from its change.
  EXPECT_EQ(outcome(kRoot, node("n9,n1", {{"Comment", "y"}})), static_cast<uint32_t>(kInvalidNodeName));
  EXPECT_EQ(core().nodes->find_node("n1")->comment(), "y");
  EXPECT_EQ(outcome(kRoot, node("ALL", {{"Comment", "x"}})), kDone);
  EXPECT_EQ(core().nodes->find_node("n3")->comment(), "x");
}

TEST_F(MachineUpdate, AnUpdateLastsBeyondARestart) {
  EXPECT_EQ(outcome(kRoot, node("n2", {{"State", "DRAIN"}, {"Reason", "a fan"}, {"Weight", "7"}})), kDone);
  restart();
  EXPECT_EQ(state_of("n2"), NODE_DRAIN);
  EXPECT_EQ(core().nodes->find_node("n2")->weight(), 7u);
}

TEST_F(MachineUpdate, WhatRunsOnANodeThatGoesDown) {
  const auto there = [](JobSpec& spec) { spec.set_node_list("n1"); };
  const uint32_t job = submit(kAlice, there);
  ASSERT_EQ(state(job), JOB_RUNNING);
  EXPECT_EQ(outcome(kRoot, node("n1", {{"State", "DRAIN"}, {"Reason", "x"}})), kDone);
  EXPECT_EQ(state(job), JOB_RUNNING);
  const uint32_t later = submit(kAlice, there);
  EXPECT_EQ(state(later), JOB_PENDING);
  EXPECT_EQ(outcome(kRoot, node("n1", {{"State", "DOWN"}, {"Reason", "x"}})), kDone);
  engine().pass(5);
  EXPECT_NE(state(job), JOB_RUNNING);
  EXPECT_EQ(outcome(kRoot, node("n1", {{"State", "RESUME"}})), kDone);
  engine().pass(5);
  EXPECT_EQ(state(later), JOB_RUNNING);
}

TEST_F(MachineUpdate, PartitionsComeAndGo) {
  EXPECT_EQ(outcome(kAlice, partition(api::CREATE, "new", {{"Nodes", "n1"}})),
            static_cast<uint32_t>(kAccessDenied));
  EXPECT_EQ(outcome(kRoot, partition(api::CREATE, "new", {{"Nodes", "n[1-2]"}})), kDone) << what_was_said();
  EXPECT_EQ(outcome(kRoot, partition(api::CREATE, "new", {})), static_cast<uint32_t>(kInvalidPartitionName));
  EXPECT_EQ(outcome(kRoot, partition(api::CREATE, "a,b", {})), static_cast<uint32_t>(kInvalidPartitionName));
  EXPECT_EQ(outcome(kRoot, partition(api::UPDATE, "old", {})), static_cast<uint32_t>(kInvalidPartitionName));
  EXPECT_NE(outcome(kRoot, partition(api::UPDATE, "new", {{"Nodes", "n9"}})), kDone);
  EXPECT_EQ(outcome(kRoot, partition(api::UPDATE, "new", {{"QOS", "none"}})),
            static_cast<uint32_t>(kInvalidQos));
  const uint32_t job = submit(kAlice, [](JobSpec& spec) { spec.set_partition("new"); });
  ASSERT_EQ(state(job), JOB_RUNNING);
  EXPECT_EQ(outcome(kRoot, partition(api::DELETE, "new", {})), static_cast<uint32_t>(kPartitionInUse));
  engine().end_one(0, 0);
  EXPECT_EQ(outcome(kRoot, partition(api::DELETE, "new", {})), kDone);
  EXPECT_EQ(submit(kAlice, [](JobSpec& spec) { spec.set_partition("new"); }), 0u);
}

TEST_F(MachineUpdate, APartitionThatIsDownStartsNothing) {
  EXPECT_EQ(outcome(kRoot, partition(api::UPDATE, "main", {{"State", "DOWN"}})), kDone) << what_was_said();
  const uint32_t job = submit(kAlice);
  EXPECT_EQ(state(job), JOB_PENDING);
  EXPECT_EQ(shown(job).reason(), WAIT_PART_DOWN);
  EXPECT_EQ(outcome(kRoot, partition(api::UPDATE, "main", {{"State", "UP"}})), kDone);
  EXPECT_EQ(state(job), JOB_RUNNING);
}

TEST_F(MachineUpdate, ReservationsThatCannotBe) {
  const auto create = [&](Fields fields) { return outcome(kRoot, reservation(api::CREATE, "r", fields)); };
  EXPECT_EQ(outcome(kAlice, reservation(api::CREATE, "r", {})), static_cast<uint32_t>(kAccessDenied));
  EXPECT_EQ(create({{"StartTime", "never"}, {"Duration", "60"}, {"Users", "root"}, {"Nodes", "n1"}}),
            static_cast<uint32_t>(kInvalidTimeValue));
  EXPECT_EQ(create({{"StartTime", "now"}, {"Duration", "0"}, {"Users", "root"}, {"Nodes", "n1"}}),
            static_cast<uint32_t>(kInvalidTimeValue));
  EXPECT_EQ(create({{"StartTime", "now"}, {"Duration", "60"}, {"Nodes", "n1"}}),
            static_cast<uint32_t>(kReservationEmpty));
  EXPECT_EQ(create({{"StartTime", "now"}, {"Duration", "60"}, {"Users", "nosuchuser0"}, {"Nodes", "n1"}}),
            static_cast<uint32_t>(kInvalidUserId));
  EXPECT_EQ(create({{"StartTime", "now"}, {"Duration", "60"}, {"Users", "root"}, {"Nodes", "n9"}}),
            static_cast<uint32_t>(kInvalidNodeName));
  EXPECT_EQ(create({{"StartTime", "now"}, {"Duration", "60"}, {"Users", "root"}, {"NodeCnt", "9"}}),
            static_cast<uint32_t>(kNodesBusy));
  EXPECT_EQ(create({{"StartTime", "now"}, {"Duration", "60"}, {"Users", "root"}, {"NodeCnt", "0"}}),
            static_cast<uint32_t>(kInvalidNodeCount));
  EXPECT_EQ(
      create(
          {{"StartTime", "now"}, {"Duration", "60"}, {"Users", "root"}, {"Nodes", "n1"}, {"Flags", "SLOW"}}),
      static_cast<uint32_t>(kNotSupported));
  EXPECT_EQ(create({{"StartTime", "now"},
                    {"Duration", "60"},
                    {"Users", "root"},
                    {"Nodes", "n1"},
                    {"Licenses", "gold"}}),
            static_cast<uint32_t>(kInvalidLicenses));
  EXPECT_EQ(create({{"StartTime", "now"},
                    {"Duration", "60"},
                    {"Users", "root"},
                    {"Nodes", "n[1-2]"},
                    {"CoreCnt", "1,2,3"}}),
            static_cast<uint32_t>(kInvalidCpuCount));
  EXPECT_TRUE(core().reservations->all().empty());
}

TEST_F(MachineUpdate, AReservationHoldsItsNodesForItsUsers) {
  EXPECT_EQ(
      outcome(kRoot,
              reservation(api::CREATE, "all",
                          {{"StartTime", "now"}, {"Duration", "60"}, {"Users", "root"}, {"Nodes", "ALL"}})),
      kDone)
      << what_was_said();
  EXPECT_TRUE(has_flag(*find("all"), "ALL_NODES"));
  const uint32_t job = submit(kAlice);
  EXPECT_EQ(state(job), JOB_PENDING);
  EXPECT_EQ(submit(kAlice, [](JobSpec& spec) { spec.set_reservation("all"); }), 0u);
  const uint32_t own = submit(kRoot, [](JobSpec& spec) { spec.set_reservation("all"); });
  EXPECT_EQ(state(own), JOB_RUNNING);
  engine().end_one(0, 0);
  EXPECT_EQ(outcome(kRoot, reservation(api::DELETE, "all", {})), kDone) << what_was_said();
  engine().pass(1);
  EXPECT_EQ(state(job), JOB_RUNNING);
}

TEST_F(MachineUpdate, ReservationsDoNotOverlap) {
  const Fields first = {{"StartTime", "now"}, {"Duration", "60"}, {"Users", "root"}, {"Nodes", "n[1-2]"}};
  EXPECT_EQ(outcome(kRoot, reservation(api::CREATE, "first", first)), kDone);
  EXPECT_EQ(outcome(kRoot, reservation(api::CREATE, "first", first)),
            static_cast<uint32_t>(kReservationNameDuplicate));
  EXPECT_EQ(outcome(kRoot, reservation(api::CREATE, "second", first)),
            static_cast<uint32_t>(kReservationOverlap));
  EXPECT_EQ(
      outcome(kRoot,
              reservation(
                  api::CREATE, "later",
                  {{"StartTime", "now+2hours"}, {"Duration", "60"}, {"Users", "root"}, {"Nodes", "n[1-2]"}})),
      kDone)
      << what_was_said();
  EXPECT_EQ(outcome(kRoot, reservation(api::CREATE, "maint",
                                       {{"StartTime", "now"},
                                        {"Duration", "60"},
                                        {"Users", "root"},
                                        {"Nodes", "n1"},
                                        {"Flags", "MAINT"}})),
            kDone)
      << what_was_said();
  // Longer than it may be, beside the later one.
  EXPECT_EQ(outcome(kRoot, reservation(api::UPDATE, "first", {{"Duration", "300"}})),
            static_cast<uint32_t>(kReservationOverlap));
  EXPECT_EQ(find("first")->end_time() - find("first")->start_time(), 3600);
}

TEST_F(MachineUpdate, CoresAreTakenWhereTheyAreFree) {
  EXPECT_EQ(
      outcome(kRoot,
              reservation(api::CREATE, "cores",
                          {{"StartTime", "now"}, {"Duration", "60"}, {"Users", "root"}, {"CoreCnt", "6"}})),
      kDone)
      << what_was_said();
  ASSERT_EQ(find("cores")->shares_size(), 2);
  EXPECT_EQ(find("cores")->shares(0).cpus(), 0u);  // all of it
  EXPECT_EQ(find("cores")->shares(1).cpus(), 2u);
  EXPECT_EQ(outcome(kRoot, reservation(api::CREATE, "even",
                                       {{"StartTime", "now"},
                                        {"Duration", "60"},
                                        {"Users", "root"},
                                        {"NodeCnt", "2"},
                                        {"CoreCnt", "4"}})),
            kDone)
      << what_was_said();
  ASSERT_EQ(find("even")->shares_size(), 2);
  EXPECT_EQ(find("even")->shares(0).cpus(), 2u);
  EXPECT_EQ(find("even")->shares(1).cpus(), 2u);
  EXPECT_EQ(
      outcome(kRoot,
              reservation(api::CREATE, "more",
                          {{"StartTime", "now"}, {"Duration", "60"}, {"Users", "root"}, {"CoreCnt", "3"}})),
      static_cast<uint32_t>(kNodesBusy));
}

TEST_F(MachineUpdate, AReservationIsBesideWhatRuns) {
  const uint32_t job = submit(kAlice, [](JobSpec& spec) {
    spec.set_node_list("n1");
    spec.set_time_limit_minutes(120);
  });
  ASSERT_EQ(state(job), JOB_RUNNING);
  const auto create = [&](const char* name, Fields fields) {
    return outcome(kRoot, reservation(api::CREATE, name, fields));
  };
  EXPECT_EQ(create("a", {{"StartTime", "now"}, {"Duration", "60"}, {"Users", "root"}, {"Nodes", "n1"}}),
            static_cast<uint32_t>(kNodesBusy));
  EXPECT_EQ(create("b", {{"StartTime", "now"},
                         {"Duration", "60"},
                         {"Users", "root"},
                         {"Nodes", "n1"},
                         {"Flags", "IGNORE_JOBS"}}),
            kDone);
  EXPECT_EQ(
      create("c", {{"StartTime", "now+3hours"}, {"Duration", "60"}, {"Users", "root"}, {"Nodes", "n1"}}),
      kDone);
  EXPECT_EQ(create("d", {{"StartTime", "now"}, {"Duration", "60"}, {"Users", "root"}, {"NodeCnt", "2"}}),
            kDone);
  EXPECT_EQ(find("d")->shares(0).node(), "n2");
}

TEST_F(MachineUpdate, FieldsOfReservations) {
  ASSERT_EQ(
      outcome(
          kRoot,
          reservation(api::CREATE, "r",
                      {{"StartTime", "now+1hour"}, {"Duration", "60"}, {"Users", "root"}, {"Nodes", "n1"}})),
      kDone);
  const auto change = [&](const char* name, const char* value) {
    return outcome(kRoot, reservation(api::UPDATE, "r", {{name, value}}));
  };
  const int64_t start = find("r")->start_time();
  EXPECT_EQ(change("Duration", "+30"), kDone) << what_was_said();
  EXPECT_EQ(find("r")->end_time() - start, 90 * 60);
  EXPECT_EQ(change("Duration", "-100"), static_cast<uint32_t>(kInvalidTimeValue));
  EXPECT_EQ(change("StartTime", "now+2hours"), kDone);
  EXPECT_EQ(find("r")->end_time() - find("r")->start_time(), 90 * 60);  // it moves
  EXPECT_EQ(change("Accounts", "lab,-guests"), kDone);
  EXPECT_TRUE(find("r")->accounts_denied());
  EXPECT_EQ(change("Groups", "-root"), static_cast<uint32_t>(kNotSupported));
  EXPECT_EQ(change("Groups", "root"), kDone);
  EXPECT_EQ(change("Flags", "+DAILY"), kDone);
  EXPECT_EQ(period_of(*find("r")), 24 * 3600);
  EXPECT_EQ(change("Flags", "-DAILY"), kDone);
  EXPECT_EQ(period_of(*find("r")), 0);
  EXPECT_EQ(change("Flags", "PURGE_COMP=10:00"), kDone) << what_was_said();
  EXPECT_EQ(find("r")->purge_seconds(), 600u);
  EXPECT_EQ(change("Comment", "ours"), kDone);
  EXPECT_EQ(find("r")->comment(), "ours");
  EXPECT_EQ(change("PartitionName", "nowhere"), static_cast<uint32_t>(kInvalidPartitionName));
  EXPECT_EQ(change("Colour", "red"), static_cast<uint32_t>(kNotSupported));
  EXPECT_EQ(change("Nodes", "n2"), kDone);
  EXPECT_EQ(find("r")->shares(0).node(), "n2");
  EXPECT_TRUE(has_flag(*find("r"), "SPEC_NODES"));
  restart();
  ASSERT_NE(find("r"), nullptr);
  EXPECT_EQ(find("r")->shares(0).node(), "n2");
}

}  // namespace
}  // namespace minke::engine::simulation
