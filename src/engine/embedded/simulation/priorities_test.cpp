// Priorities: their terms, when they change, and that they decide which job starts.
#include "engine/embedded/scheduling/priorities.h"

#include "accounts/testing.h"
#include "api/accounts.pb.h"
#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/simulation/request_test.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

constexpr int64_t kCalculated = 60;  // s between two calculations

class PrioritiesTest : public RequestTest {
 protected:
  void start_weighing(const std::string& weights) {
    start("", "[priority]\ntype = \"multifactor\"\ncalc_period = 60\nmax_age = \"0-10\"\n" + weights +
                  "[[partition]]\nname = \"favoured\"\npriority_job_factor = 4\n");
    filler_ = waiting(3);  // what comes after it waits
  }
  uint32_t waiting(uint32_t nodes, const Change& change = nullptr, uint32_t uid = kAlice) {
    return submit(uid, [&](JobSpec& spec) {
      spec.set_min_nodes(nodes);
      spec.set_max_nodes(nodes);
      spec.set_exclusive(true);
      spec.set_time_limit_minutes(600);
      if (change) change(spec);
    });
  }
  uint32_t priority(uint32_t job) { return shown(job).priority(); }

  uint32_t filler_ = 0;
};

TEST_F(PrioritiesTest, WithoutWeightsTheEarlierComesFirst) {
  waiting(3);
  const uint32_t first = waiting(1), nice = waiting(1, [](JobSpec&spec) { spec.set_nice(1000); });
  const uint32_t second = waiting(1), held = waiting(1, [](JobSpec&spec) { spec.set_hold(true); });
  const uint32_t set = waiting(
      1, [](JobSpec& spec) { spec.set_priority(7); }, kRoot);
  EXPECT_GT(priority(first), priority(second));
  EXPECT_EQ(priority(first) - priority(nice), 1001u);
  EXPECT_EQ(priority(held), 0u);
  EXPECT_EQ(priority(set), 7u);
}

struct Weighed {
  const char* weights;
  std::function<void(JobSpec&)> more, less;
  uint32_t difference;
};

TEST_F(PrioritiesTest, EachPartOfTheSum) {
  const auto nodes = [](uint32_t count) {
    return [count](JobSpec& spec) {
      spec.set_min_nodes(count);
      spec.set_max_nodes(count);
    };
  };
  const auto partition = [](const char* name) { return [name](JobSpec& spec) { spec.set_partition(name); }; };
  const auto memory = [](uint64_t mib) { return [mib](JobSpec& spec) { spec.set_mem_per_node_mib(mib); }; };
  const auto gpus = [](uint32_t count) {
    return [count](JobSpec& spec) {
      Gres& gres = *spec.add_gres_per_node();
      gres.set_name("gpu");
      gres.set_count(count);
    };
  };
  const auto nice = [](int32_t value) { return [value](JobSpec& spec) { spec.set_nice(value); }; };
  // The size is the half of its nodes' share and the half of its CPUs'.
  const Weighed rows[] = {
      {"weight_job_size = 3000\n", nodes(3), nodes(1), 1250},
      {"weight_job_size = 3000\nfavor_small = true\n", nodes(1), nodes(3), 1250},
      {"weight_partition = 1000\n", partition("favoured"), partition("main"), 750},
      {"weight_tres = \"mem=1200\"\n", memory(4000), memory(1000), 300},  // of 12000 in all
      {"weight_tres = \"gres/gpu=600\"\n", gpus(2), gpus(1), 100},
      {"weight_age = 1000\nweight_partition = 5000\n", nice(100), nice(400), 300},
  };
  for (const Weighed& row : rows) {
    SCOPED_TRACE(row.weights);
    start_weighing(row.weights);
    EXPECT_EQ(priority(waiting(1, row.more)) - priority(waiting(1, row.less)), row.difference);
  }
}

TEST_F(PrioritiesTest, AgeCountsFromWhenItCouldStartAndHasAnEnd) {
  start_weighing("weight_age = 1000\n");
  const int64_t begin = shown(filler_).submit_time() + 5 * 3600;
  const uint32_t old = waiting(1), later = waiting(1, [&](JobSpec&spec) { spec.set_begin_time(begin); });
  engine().pass(5 * 3600 + kCalculated);
  EXPECT_NEAR(priority(old), 500, 3);
  EXPECT_LE(priority(later), 3u);
  engine().pass(5 * 3600 + kCalculated);
  EXPECT_EQ(priority(old), 1000u);
  EXPECT_NEAR(priority(later), 500, 3);
  engine().pass(5 * 3600);
  EXPECT_EQ(priority(old), 1000u);
}

TEST_F(PrioritiesTest, WhatSomebodySetStays) {
  start_weighing("weight_age = 1000\n");
  const uint32_t job = waiting(1);
  EXPECT_EQ(outcome(kRoot, update(job, "Priority", "77")), 0u) << what_was_said();
  const uint32_t held = waiting(1, [](JobSpec& spec) { spec.set_hold(true); });
  engine().pass(5 * 3600 + kCalculated);
  EXPECT_EQ(priority(job), 77u);
  EXPECT_EQ(priority(held), 0u);
}

TEST_F(PrioritiesTest, TheQosOfAJobCounts) {
  start_weighing("weight_qos = 1000\n");
  rpc::RequestEnvelope change = change_of_accounts();
  api::UpdateAccountsRequest& update = change.body<api::UpdateAccountsRequest>();
  for (const auto& [name, value] : {std::pair{"express", 40u}, {"slow", 10u}}) {
    QosRecord& qos = *update.add_qos();
    qos.set_name(name);
    qos.set_priority(value);
  }
  ASSERT_EQ(outcome(kRoot, change), 0u) << what_was_said();
  EXPECT_EQ(priority(waiting(1, [](JobSpec& spec) { spec.set_qos("express"); })), 1000u);
  EXPECT_EQ(priority(waiting(1, [](JobSpec& spec) { spec.set_qos("slow"); })), 250u);
}

TEST_F(PrioritiesTest, TheHighestStartsFirst) {
  start_weighing("weight_job_size = 3000\n");
  const uint32_t small = waiting(2), large = waiting(3);
  EXPECT_EQ(outcome(kAlice, cancel(filler_)), 0u);
  engine().pass(5);
  EXPECT_EQ(state(large), JOB_RUNNING);
  EXPECT_EQ(state(small), JOB_PENDING);
}

// Fair share: users with much usage come later, and less so as time passes.
TEST_F(PrioritiesTest, WhoHasUsedMuchComesLater) {
  start_weighing("weight_fair_share = 10000\nhalf_life = \"1-0\"\n");
  rpc::RequestEnvelope change = change_of_accounts();
  api::UpdateAccountsRequest& update = change.body<api::UpdateAccountsRequest>();
  update.add_accounts()->set_name("lab");
  *update.add_associations() = accounts::testing::account("lab", "root");
  for (const uint32_t uid : {kAlice, kBob}) {
    update.add_users()->set_name(std::to_string(uid));
    *update.add_associations() = accounts::testing::member(std::to_string(uid), "lab");
  }
  ASSERT_EQ(outcome(kRoot, change), 0u) << what_was_said();
  EXPECT_EQ(outcome(kAlice, cancel(filler_)), 0u);
  engine().pass(5);
  const auto of_lab = [](JobSpec& spec) { spec.set_account("lab"); };
  const uint32_t used = waiting(3, of_lab);
  ASSERT_EQ(state(used), JOB_RUNNING);
  engine().pass(3600);
  const uint32_t alices = waiting(3, of_lab), bobs = waiting(3, of_lab, kBob);
  engine().pass(kCalculated);
  EXPECT_LT(priority(alices), priority(bobs));
  EXPECT_EQ(outcome(kAlice, cancel(used)), 0u);
  engine().pass(5);
  EXPECT_EQ(state(bobs), JOB_RUNNING);
  EXPECT_EQ(state(alices), JOB_PENDING);
}

}  // namespace
}  // namespace minke::engine::simulation
