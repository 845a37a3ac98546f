// Preemption: which job gives way to which, what happens to it, and that no job does so in vain.
#include "engine/embedded/scheduling/preemption.h"

#include "api/accounts.pb.h"
#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/simulation/request_test.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

class PreemptionTest : public RequestTest {
 protected:
  // Partitions of three tiers. `low`: what the lowest says beside that.
  void start_tiers(const std::string& mode, const std::string& low = "") {
    start("", "[preemption]\ntype = \"partition\"\nmode = \"" + mode +
                  "\"\n"
                  "[[partition]]\nname = \"low\"\npriority_tier = 1\n" +
                  low +
                  "[[partition]]\nname = \"middle\"\npriority_tier = 2\n"
                  "[[partition]]\nname = \"high\"\npriority_tier = 3\n");
  }
  // A job that has all of so many nodes, but for memory.
  uint32_t put(const std::string& partition, uint32_t nodes, const Change& change = nullptr) {
    const uint32_t job = submit(kAlice, [&](JobSpec& spec) {
      spec.set_partition(partition);
      spec.set_min_nodes(nodes);
      spec.set_max_nodes(nodes);
      spec.set_ntasks(4 * nodes);
      spec.set_mem_per_node_mib(1000);
      spec.set_time_limit_minutes(600);
      if (change) change(spec);
    });
    engine().pass(10);  // each is younger than the one before it
    return job;
  }
  void end(uint32_t job) {
    EXPECT_EQ(outcome(kAlice, cancel(job)), 0u) << what_was_said();
    engine().pass(10);
  }
};

struct Mode {
  const char* of_cluster;
  const char* of_partition;
  bool requeue;
  JobState given_way;
  bool gives_way;
};

TEST_F(PreemptionTest, WhatBecomesOfTheOneThatGivesWay) {
  const Mode rows[] = {
      {"cancel", "", true, JOB_PREEMPTED, true},      {"requeue", "", true, JOB_PENDING, true},
      {"requeue", "", false, JOB_PREEMPTED, true},    {"suspend", "", true, JOB_SUSPENDED, true},
      {"cancel", "off", true, JOB_RUNNING, false},  // its own partition's word is what counts
      {"cancel", "requeue", true, JOB_PENDING, true}, {"suspend", "cancel", true, JOB_PREEMPTED, true},
  };
  for (const Mode& row : rows) {
    SCOPED_TRACE(std::string(row.of_cluster) + " " + row.of_partition);
    const std::string own = row.of_partition;
    start_tiers(row.of_cluster, own.empty() ? "" : "preempt_mode = \"" + own + "\"\n");
    const uint32_t low = put("low", 3, [&](JobSpec& spec) { spec.set_requeue(row.requeue); });
    ASSERT_EQ(state(low), JOB_RUNNING);
    const uint32_t high = put("high", 3);
    EXPECT_EQ(state(low), row.given_way);
    EXPECT_EQ(state(high), row.gives_way ? JOB_RUNNING : JOB_PENDING);
    EXPECT_EQ(shown(low).restarts(), row.given_way == JOB_PENDING ? 1u : 0u);
    end(high);
    if (row.given_way == JOB_PENDING || row.given_way == JOB_SUSPENDED) {
      EXPECT_EQ(state(low), JOB_RUNNING);
    }
  }
}

TEST_F(PreemptionTest, AsFewAsPossibleTheLeastAndYoungestFirst) {
  start_tiers("cancel");
  const uint32_t lowest = put("low", 1), old = put("middle", 1), young = put("middle", 1);
  const uint32_t first = put("high", 1);
  EXPECT_EQ(state(first), JOB_RUNNING);
  EXPECT_EQ(state(lowest), JOB_PREEMPTED);  // though it is the oldest
  EXPECT_EQ(state(old), JOB_RUNNING);
  EXPECT_EQ(state(young), JOB_RUNNING);
  const uint32_t second = put("high", 1);
  EXPECT_EQ(state(second), JOB_RUNNING);
  EXPECT_EQ(state(young), JOB_PREEMPTED);
  EXPECT_EQ(state(old), JOB_RUNNING);
}

TEST_F(PreemptionTest, NobodyGivesWayInVainNorToHisEqual) {
  start_tiers("cancel");
  const uint32_t low = put("low", 2), high = put("high", 1);
  const uint32_t too_large = put("high", 3);
  EXPECT_EQ(state(too_large), JOB_PENDING);
  EXPECT_EQ(state(low), JOB_RUNNING);
  const uint32_t equal = put("low", 2), held = put("high", 2, [](JobSpec&spec) { spec.set_hold(true); });
  const uint32_t later = put("high", 2, [](JobSpec& spec) { spec.set_begin_time(int64_t{1} << 40); });
  for (const uint32_t job : {equal, held, later}) EXPECT_EQ(state(job), JOB_PENDING);
  EXPECT_EQ(state(low), JOB_RUNNING);
  EXPECT_EQ(state(high), JOB_RUNNING);
  end(high);  // now it is not in vain
  EXPECT_EQ(state(too_large), JOB_RUNNING);
  EXPECT_EQ(state(low), JOB_PREEMPTED);
}

TEST_F(PreemptionTest, ItHasItsTimeOfGraceAndItsPlaceIsKeptForTheOneThatAsked) {
  start_tiers("cancel", "grace_time = 120\n");
  const uint32_t low = put("low", 3);
  const uint32_t high = put("high", 3);
  EXPECT_EQ(state(low), JOB_RUNNING);
  const uint32_t other = put("middle", 1);
  engine().pass(90);
  EXPECT_EQ(state(low), JOB_RUNNING);
  EXPECT_EQ(state(high), JOB_PENDING);
  engine().pass(30);
  EXPECT_EQ(state(low), JOB_PREEMPTED);
  EXPECT_EQ(state(high), JOB_RUNNING);
  EXPECT_EQ(state(other), JOB_PENDING);
}

TEST_F(PreemptionTest, WhoEndsWithinHisTimeOfGraceHasNotBeenPreempted) {
  start_tiers("requeue", "grace_time = 120\n");
  const uint32_t low = put("low", 3), high = put("high", 3);
  engine().end_one(0, 0);
  EXPECT_EQ(state(low), JOB_COMPLETE);
  EXPECT_EQ(state(high), JOB_RUNNING);
  engine().pass(300);
  EXPECT_EQ(state(low), JOB_COMPLETE);
}

TEST_F(PreemptionTest, ASuspendedJobKeepsItsMemory) {
  start_tiers("suspend");
  const uint32_t low = put("low", 3, [](JobSpec& spec) { spec.set_mem_per_node_mib(3000); });
  const uint32_t large = put("high", 3, [](JobSpec& spec) { spec.set_mem_per_node_mib(2000); });
  EXPECT_EQ(state(low), JOB_RUNNING);
  EXPECT_EQ(state(large), JOB_PENDING);
  const uint32_t small = put("high", 3, [](JobSpec& spec) { spec.set_mem_per_node_mib(500); });
  EXPECT_EQ(state(low), JOB_SUSPENDED);
  EXPECT_EQ(state(small), JOB_RUNNING);
}

TEST_F(PreemptionTest, ItGoesOnWhenNobodyWouldStopItAgain) {
  start_tiers("suspend");
  const uint32_t low = put("low", 3);
  const uint32_t first = put("high", 3), second = put("high", 3);
  ASSERT_EQ(state(low), JOB_SUSPENDED);
  end(first);
  EXPECT_EQ(state(second), JOB_RUNNING);
  EXPECT_EQ(state(low), JOB_SUSPENDED);
  const int64_t stopped = shown(low).suspended_seconds();
  engine().pass(100);
  end(second);
  EXPECT_EQ(state(low), JOB_RUNNING);
  EXPECT_GE(shown(low).suspended_seconds(), stopped + 100);
}

TEST_F(PreemptionTest, WhatAnOperatorSuspendedStaysSo) {
  start_tiers("suspend");
  const uint32_t low = put("low", 3);
  rpc::RequestEnvelope suspend;
  suspend.body<api::SuspendRequest>().add_jobs()->set_job_id(low);
  EXPECT_EQ(outcome(kRoot, suspend), 0u) << what_was_said();
  const uint32_t high = put("high", 3);
  EXPECT_EQ(state(high), JOB_RUNNING);
  end(high);
  EXPECT_EQ(state(low), JOB_SUSPENDED);
}

TEST_F(PreemptionTest, ByQosThatNamesTheOther) {
  start("", "[preemption]\ntype = \"qos\"\nmode = \"cancel\"\n");
  rpc::RequestEnvelope change = change_of_accounts();
  api::UpdateAccountsRequest& update = change.body<api::UpdateAccountsRequest>();
  for (const char* name : {"scavenge", "urgent", "other"}) {
    QosRecord& qos = *update.add_qos();
    qos.set_name(name);
    if (qos.name() == "urgent") qos.add_preempt("scavenge");
    if (qos.name() == "scavenge") qos.set_preempt_mode("REQUEUE");
  }
  ASSERT_EQ(outcome(kRoot, change), 0u) << what_was_said();
  const auto of = [](const char* qos) { return [qos](JobSpec& spec) { spec.set_qos(qos); }; };
  const uint32_t scavenge = put("main", 2, of("scavenge")), other = put("main", 1, of("other"));
  ASSERT_EQ(state(scavenge), JOB_RUNNING);
  ASSERT_EQ(state(other), JOB_RUNNING);
  EXPECT_EQ(state(put("main", 1, of("other"))), JOB_PENDING);  // names nobody
  EXPECT_EQ(state(scavenge), JOB_RUNNING);
  EXPECT_EQ(state(put("main", 3, of("urgent"))), JOB_PENDING);  // one of them would not go
  EXPECT_EQ(state(scavenge), JOB_RUNNING);
  EXPECT_EQ(state(put("main", 2, of("urgent"))), JOB_RUNNING);
  EXPECT_EQ(shown(scavenge).restarts(), 1u);  // as its QOS says
  EXPECT_EQ(state(other), JOB_RUNNING);
}

}  // namespace
}  // namespace minke::engine::simulation
