// Reservations over time: they begin, end, recur, are removed and replace nodes, with the effects on jobs
// inside and outside. machine_update_test.cpp has their creation and changes.
#include "engine/embedded/scheduling/reservations.h"
#include "api/field.pb.h"
#include "api/updates.pb.h"

#include <ctime>
#include <initializer_list>
#include <set>
#include <utility>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/simulation/request_test.h"
#include "model/error.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

constexpr int64_t kHour = 3600, kDay = 24 * kHour;
using Fields = std::initializer_list<std::pair<const char*, std::string>>;

class ReservationsTest : public RequestTest {
 protected:
  // Of `root`, for an hour from now, where the fields say no other.
  uint32_t create(const std::string& name, Fields fields) { return change(api::CREATE, name, fields, true); }
  uint32_t update_it(const std::string& name, Fields fields) {
    return change(api::UPDATE, name, fields, false);
  }
  uint32_t drain(const char* node) {
    rpc::RequestEnvelope message;
    message.body<api::UpdateNodeRequest>().set_node_list(node);
    add(*message.body<api::UpdateNodeRequest>().mutable_fields(), {{"State", "DRAIN"}, {"Reason", "a fan"}});
    return outcome(kRoot, message);
  }
  uint32_t submit_to(const std::string& reservation, uint32_t minutes, const Change& more = nullptr) {
    return submit(kRoot, [&](JobSpec& spec) {
      spec.set_reservation(reservation);
      spec.set_exclusive(true);
      spec.set_time_limit_minutes(minutes);
      if (more) more(spec);
    });
  }
  const ReservationRecord* find(const std::string& name) { return core().reservations->find(name); }
  std::set<std::string> nodes_of(const std::string& name) {
    std::set<std::string> nodes;
    if (const ReservationRecord* record = find(name))
      for (const auto& share : record->shares()) nodes.insert(share.node());
    return nodes;
  }
  int64_t now() { return core().now(); }

 private:
  static void add(google::protobuf::RepeatedPtrField<api::Field>& list, Fields fields) {
    for (const auto& [name, value] : fields) {
      api::Field& field = *list.Add();
      field.set_name(name);
      field.set_value(value);
    }
  }
  uint32_t change(api::Change change, const std::string& name, Fields fields, bool defaults) {
    rpc::RequestEnvelope message;
    api::UpdateReservationRequest& request = message.body<api::UpdateReservationRequest>();
    request.set_change(change);
    request.set_name(name);
    if (defaults)
      add(*request.mutable_fields(), {{"StartTime", "now"}, {"Duration", "60"}, {"Users", "root"}});
    add(*request.mutable_fields(), fields);
    return outcome(kRoot, message);
  }
};

TEST_F(ReservationsTest, WhatStillRunsInItAtItsEndIsStopped) {
  ASSERT_EQ(create("plain", {{"Nodes", "n1"}}), 0u) << what_was_said();
  ASSERT_EQ(create("flexible", {{"Nodes", "n2"}, {"Flags", "FLEX"}}), 0u) << what_was_said();
  const uint32_t stopped = submit_to("plain", 60), goes_on = submit_to("flexible", 600);
  const uint32_t too_long = submit_to("plain", 61);
  ASSERT_EQ(state(stopped), JOB_RUNNING);
  ASSERT_EQ(state(goes_on), JOB_RUNNING);
  EXPECT_EQ(outcome(kRoot, update(stopped, "TimeLimit", "600")), 0u) << what_was_said();
  engine().pass(kHour - 10);
  EXPECT_EQ(state(stopped), JOB_RUNNING);
  engine().pass(20);
  EXPECT_EQ(state(stopped), JOB_TIMEOUT);
  EXPECT_EQ(state(goes_on), JOB_RUNNING);
  EXPECT_EQ(find("plain"), nullptr);
  EXPECT_EQ(state(too_long), JOB_PENDING);  // it names what is no longer there
}

TEST_F(ReservationsTest, NobodyStartsWhatWouldReachIntoALaterOne) {
  ASSERT_EQ(create("later", {{"StartTime", "now+2hours"}, {"Nodes", "ALL"}}), 0u) << what_was_said();
  const auto of = [&](uint32_t minutes) {
    return submit(kAlice, [=](JobSpec& spec) { spec.set_time_limit_minutes(minutes); });
  };
  const uint32_t fits = of(119), too_long = of(125), own = submit_to("later", 30);
  EXPECT_EQ(state(fits), JOB_RUNNING);
  EXPECT_EQ(state(too_long), JOB_PENDING);
  EXPECT_EQ(state(own), JOB_PENDING);
  engine().pass(2 * kHour + 10);
  EXPECT_EQ(state(own), JOB_RUNNING);
  EXPECT_EQ(state(too_long), JOB_PENDING);
  engine().pass(kHour + 10);
  EXPECT_EQ(state(too_long), JOB_RUNNING);
}

TEST_F(ReservationsTest, ADailyOneComesAgain) {
  ASSERT_EQ(create("daily", {{"Nodes", "n1"}, {"Flags", "DAILY"}}), 0u) << what_was_said();
  const int64_t begin = find("daily")->start_time();
  const uint32_t first = submit_to("daily", 30), next = submit_to("daily", 50);
  EXPECT_EQ(state(first), JOB_RUNNING);
  EXPECT_EQ(state(next), JOB_PENDING);
  engine().pass(kHour + 10);
  EXPECT_EQ(state(first), JOB_TIMEOUT);
  ASSERT_NE(find("daily"), nullptr);
  EXPECT_EQ(find("daily")->start_time(), begin + kDay);
  EXPECT_EQ(find("daily")->end_time(), begin + kDay + kHour);
  restart();
  EXPECT_EQ(find("daily")->start_time(), begin + kDay);
  engine().pass(kDay - kHour);
  EXPECT_EQ(state(next), JOB_RUNNING);
}

TEST_F(ReservationsTest, DaysOfTheWeek) {
  const auto is_weekend = [](int64_t time) {
    std::tm local{};
    const std::time_t seconds = time;
    ::localtime_r(&seconds, &local);
    return local.tm_wday == 0 || local.tm_wday == 6;
  };
  for (const bool weekend : {false, true}) {
    ReservationRecord record;
    record.add_flags(weekend ? "WEEKEND" : "WEEKDAY");
    record.set_start_time(now() + 10);
    record.set_end_time(now() + 10 + kHour);
    ASSERT_TRUE(move_on(record, record.end_time()));
    const int64_t first = record.start_time();
    for (int count = 0; count < (weekend ? 2 : 5); ++count) {
      EXPECT_EQ(is_weekend(record.start_time()), weekend);
      EXPECT_EQ(record.end_time() - record.start_time(), kHour);
      ASSERT_TRUE(move_on(record, record.end_time()));
    }
    EXPECT_EQ(record.start_time(), first + 7 * kDay);  // each such day of a week once
  }
  ReservationRecord once;
  EXPECT_FALSE(move_on(once, now()));
}

TEST_F(ReservationsTest, OneThatWasMissedForLongMovesToItsNextTime) {
  ReservationRecord record;
  record.add_flags("HOURLY");
  record.set_start_time(now() - 1000 * kHour - 600);
  record.set_end_time(now() - 1000 * kHour);
  ASSERT_TRUE(move_on(record, now()));
  EXPECT_GT(record.end_time(), now());
  EXPECT_LE(record.start_time(), now() + kHour);
  EXPECT_EQ((record.end_time() - now()) % kHour, 0);
}

TEST_F(ReservationsTest, ItTakesAnotherNodeForOneThatIsGone) {
  ASSERT_EQ(create("r", {{"NodeCnt", "1"}, {"Flags", "REPLACE_DOWN"}}), 0u) << what_was_said();
  ASSERT_EQ(create("named", {{"Nodes", "n3"}, {"Flags", "REPLACE_DOWN"}}), 0u) << what_was_said();
  ASSERT_EQ(nodes_of("r"), std::set<std::string>{"n1"});
  const uint32_t job = submit_to("r", 30);
  ASSERT_EQ(state(job), JOB_RUNNING);
  EXPECT_EQ(nodes_of("r"), std::set<std::string>{"n1"});  // a job is no reason
  engine().end_one(0, 0);
  EXPECT_EQ(drain("n1"), 0u) << what_was_said();
  EXPECT_EQ(nodes_of("r"), std::set<std::string>{"n2"});
  EXPECT_EQ(drain("n2"), 0u);  // there is no other: n3 is reserved
  EXPECT_EQ(nodes_of("r"), std::set<std::string>{"n2"});
  EXPECT_EQ(drain("n3"), 0u);
  EXPECT_EQ(nodes_of("named"), std::set<std::string>{"n3"});  // it was named
  restart();
  EXPECT_EQ(nodes_of("r"), std::set<std::string>{"n2"});
}

TEST_F(ReservationsTest, ItTakesAnotherNodeForOneThatAJobHas) {
  ASSERT_EQ(create("r", {{"NodeCnt", "1"}, {"Flags", "REPLACE"}}), 0u) << what_was_said();
  const uint32_t first = submit_to("r", 30);
  EXPECT_EQ(shown(first).node_list(), "n1");
  EXPECT_EQ(nodes_of("r"), std::set<std::string>{"n2"});
  const uint32_t second = submit_to("r", 30), third = submit_to("r", 30);
  EXPECT_EQ(shown(second).node_list(), "n2");
  EXPECT_EQ(shown(third).node_list(), "n3");
  EXPECT_EQ(nodes_of("r").size(), 1u);  // none is idle any more
}

TEST_F(ReservationsTest, OneThatIsNotUsedLeaves) {
  ASSERT_EQ(create("idle", {{"Nodes", "n1"}, {"Duration", "600"}, {"Flags", "PURGE_COMP=10:00"}}), 0u)
      << what_was_said();
  const uint32_t job = submit_to("idle", 120);
  ASSERT_EQ(state(job), JOB_RUNNING);
  engine().pass(30 * 60);
  EXPECT_NE(find("idle"), nullptr);
  engine().end_one(0, 0);
  const auto pass = [&](int seconds) {  // it is looked at every ten
    for (; seconds > 0; seconds -= 10) engine().pass(10);
  };
  pass(590);
  EXPECT_NE(find("idle"), nullptr);
  pass(30);
  EXPECT_EQ(find("idle"), nullptr);
}

TEST_F(ReservationsTest, OneThatFloatsIsAlwaysAhead) {
  ASSERT_EQ(create("ahead", {{"StartTime", "now+1hour"}, {"Nodes", "ALL"}, {"Flags", "TIME_FLOAT"}}), 0u)
      << what_was_said();
  const auto of = [&](uint32_t minutes) {
    return submit(kAlice, [=](JobSpec& spec) { spec.set_time_limit_minutes(minutes); });
  };
  const uint32_t fits = of(50), too_long = of(90);
  EXPECT_EQ(state(fits), JOB_RUNNING);
  EXPECT_EQ(state(too_long), JOB_PENDING);
  EXPECT_EQ(submit_to("ahead", 10), 0u);
  engine().pass(5 * kHour);
  EXPECT_EQ(core().reservations->shown_at(*find("ahead"), now()).start_time(), now() + kHour);
  EXPECT_EQ(state(too_long), JOB_PENDING);
  EXPECT_EQ(state(of(50)), JOB_RUNNING);
  EXPECT_EQ(update_it("ahead", {{"Flags", "-TIME_FLOAT"}}), static_cast<uint32_t>(kInvalidTimeValue));
}

TEST_F(ReservationsTest, AMagneticOneDrawsItsUsersJobsIn) {
  ASSERT_EQ(create("magnet", {{"Nodes", "n3"}, {"Flags", "MAGNETIC"}}), 0u) << what_was_said();
  const auto whole = [](JobSpec& spec) {
    spec.set_exclusive(true);
    spec.set_time_limit_minutes(30);
  };
  for (int i = 0; i < 2; ++i) EXPECT_EQ(state(submit(kAlice, whole)), JOB_RUNNING);
  EXPECT_EQ(state(submit(kAlice, whole)), JOB_PENDING);
  const uint32_t drawn = submit(kRoot, whole);
  ASSERT_EQ(state(drawn), JOB_RUNNING);
  EXPECT_EQ(shown(drawn).node_list(), "n3");
  EXPECT_EQ(shown(drawn).spec().reservation(), "magnet");
  rpc::RequestEnvelope again;
  again.body<api::RequeueRequest>().add_jobs()->set_job_id(drawn);
  again.body<api::RequeueRequest>().set_hold(true);
  EXPECT_EQ(outcome(kRoot, again), 0u) << what_was_said();
  engine().pass(5);
  EXPECT_EQ(state(drawn), JOB_PENDING);
  EXPECT_EQ(shown(drawn).spec().reservation(), "");  // it may run anywhere
}

TEST_F(ReservationsTest, OfSeveralThatAreNamedTheOneWithRoomIsTaken) {
  ASSERT_EQ(create("first", {{"Nodes", "n1"}}), 0u);
  ASSERT_EQ(create("second", {{"Nodes", "n2"}}), 0u);
  const uint32_t job = submit_to("first,second", 30), other = submit_to("first,second", 30);
  EXPECT_EQ(state(job), JOB_RUNNING);
  EXPECT_EQ(state(other), JOB_RUNNING);
  const Job& running = *core().state.find(other);
  EXPECT_EQ(core().reservations->name_for(running), shown(other).node_list() == "n1" ? "first" : "second");
  EXPECT_EQ(submit_to("first,third", 30), 0u);
}

// A node that is looked at anew knows which of them the job is in: the rest of that node is not held twice.
TEST_F(ReservationsTest, WhichOfSeveralAJobIsInIsNotForgotten) {
  for (const char* name : {"first", "second"})
    ASSERT_EQ(create(name, {{"Nodes", name[0] == 'f' ? "n1" : "n2"}, {"CoreCnt", "2"}}), 0u)
        << what_was_said();
  const auto half = [](const char* reservation, const char* node) {
    return [=](JobSpec& spec) {
      spec.set_reservation(reservation);
      spec.set_node_list(node);
      spec.set_cpus_per_task(2);
      spec.set_time_limit_minutes(30);
    };
  };
  for (const char* node : {"n1", "n2"})
    ASSERT_EQ(state(submit(kRoot, half("first,second", node))), JOB_RUNNING);
  ASSERT_EQ(create("other", {{"StartTime", "now+1day"}, {"Nodes", "n3"}}), 0u) << what_was_said();
  EXPECT_EQ(state(submit(kAlice, half("", "n2"))), JOB_RUNNING);
  EXPECT_EQ(state(submit(kRoot, half("second", "n2"))), JOB_PENDING);
}

TEST_F(ReservationsTest, WhoIsKeptOut) {
  const std::string alice = std::to_string(kAlice);
  ASSERT_EQ(create("r", {{"Nodes", "n1"}, {"Users", "-daemon"}}), 0u) << what_was_said();
  const auto in = [](JobSpec& spec) { spec.set_reservation("r"); };
  EXPECT_NE(submit(kAlice, in), 0u);  // all but that one
  EXPECT_EQ(submit(1, in), 0u);       // daemon's uid
  EXPECT_EQ(update_it("r", {{"Users", "root"}, {"Groups", "root"}}), 0u) << what_was_said();
  EXPECT_EQ(submit(kAlice, in), 0u);
  EXPECT_NE(submit(kRoot, in), 0u);
  EXPECT_EQ(update_it("r", {{"Users", ""}, {"Groups", ""}, {"Accounts", "-lab"}}), 0u) << what_was_said();
  EXPECT_NE(submit(kAlice, in), 0u);
}

TEST_F(ReservationsTest, EachListThatIsGivenMustAdmit) {
  ASSERT_EQ(create("q", {{"Nodes", "n1"}, {"QOS", "normal"}}), 0u) << what_was_said();
  const auto with = [](const char* qos) {
    return [qos](JobSpec& spec) {
      spec.set_reservation("q");
      spec.set_qos(qos);
    };
  };
  const auto refused = static_cast<uint32_t>(kReservationAccess);
  EXPECT_EQ(outcome(kRoot, submission(with(""))), refused);
  EXPECT_EQ(outcome(kAlice, submission(with("normal"))), refused);  // it is root's
  EXPECT_NE(submit(kRoot, with("normal")), 0u) << what_was_said();
  EXPECT_EQ(update_it("q", {{"QOS", "-normal"}}), 0u) << what_was_said();
  EXPECT_EQ(outcome(kRoot, submission(with("normal"))), refused);
  EXPECT_NE(submit(kRoot, with("")), 0u) << what_was_said();
  const std::string partition = core().nodes->default_partition().name();
  EXPECT_EQ(update_it("q", {{"AllowedPartitions", "-" + partition}}), 0u) << what_was_said();
  EXPECT_EQ(outcome(kRoot, submission(with(""))), refused);
  EXPECT_EQ(update_it("q", {{"AllowedPartitions", partition}}), 0u) << what_was_said();
  EXPECT_NE(submit(kRoot, with("")), 0u) << what_was_said();
  EXPECT_EQ(update_it("q", {{"QOS", "nosuch"}}), static_cast<uint32_t>(kInvalidQos));
  EXPECT_EQ(update_it("q", {{"AllowedPartitions", "nosuch"}}), static_cast<uint32_t>(kInvalidPartitionName));
}

TEST_F(ReservationsTest, TresStandForFieldsOfTheirOwn) {
  EXPECT_EQ(create("t", {{"TRES", "node=2"}}), 0u) << what_was_said();
  EXPECT_EQ(nodes_of("t").size(), 2u);
  EXPECT_EQ(create("c", {{"TRES", "cpu=1"}}), 0u) << what_was_said();
  EXPECT_EQ(find("c")->core_count(), 1u);
  EXPECT_EQ(create("g", {{"TRES", "gres/gpu=1"}}), static_cast<uint32_t>(kNodesBusy));  // no node has one
  EXPECT_EQ(create("x", {{"TRES", "nonsense"}}), static_cast<uint32_t>(kInvalidTres));
}

TEST_F(ReservationsTest, WhatItCannotHoldIsRefusedAtOnce) {
  ASSERT_EQ(create("one", {{"Nodes", "n1"}}), 0u);
  const auto refused = [&](const Change& change) {
    return outcome(kRoot, submission([&](JobSpec& spec) {
                     spec.set_reservation("one");
                     change(spec);
                   }));
  };
  const auto cannot = static_cast<uint32_t>(kNodeConfigUnavailable);
  EXPECT_EQ(refused([](JobSpec& spec) { spec.set_min_nodes(2); }), cannot);
  EXPECT_EQ(refused([](JobSpec& spec) { spec.set_ntasks(5); }), cannot);
  EXPECT_EQ(refused([](JobSpec& spec) { spec.set_node_list("n2"); }), cannot);
  EXPECT_EQ(refused([](JobSpec& spec) {
              spec.set_ntasks(5);
              spec.set_overcommit(true);
            }),
            0u)
      << what_was_said();
}

}  // namespace
}  // namespace minke::engine::simulation
