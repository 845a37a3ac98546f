// minke why: the answers about jobs in each situation, and who may see what.
#include "engine/embedded/answers/explanation.h"
#include "api/updates.pb.h"

#include "api/explanation.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/simulation/request_test.h"
#include "model/error.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

class ExplainingTest : public RequestTest {
 protected:
  static rpc::RequestEnvelope why(uint32_t job_id) {
    rpc::RequestEnvelope message;
    message.body<api::ExplainJobRequest>().mutable_job()->set_job_id(job_id);
    return message;
  }
  api::ExplainJobReply explain(uint32_t job_id, uint32_t uid = kRoot) {
    const auto answers = ask_all(uid, why(job_id));
    EXPECT_EQ(answers.size(), 1u);
    return answers.empty() ? api::ExplainJobReply() : answers.back().read<api::ExplainJobReply>();
  }
  static Change whole(uint32_t nodes, uint32_t minutes) {
    return [=](JobSpec& spec) {
      spec.set_min_nodes(nodes);
      spec.set_max_nodes(nodes);
      spec.set_exclusive(true);
      spec.set_time_limit_minutes(minutes);
    };
  }
};

TEST_F(ExplainingTest, WhatWaitsForNodesIsToldOfThoseWhoHaveThem) {
  const uint32_t running = submit(kAlice, whole(3, 60));
  const uint32_t before = submit(kAlice, whole(3, 30));
  const uint32_t job = submit(kBob, whole(2, 120));
  const api::ExplainJobReply reply = explain(job);
  EXPECT_EQ(reply.job().job_id(), job);
  EXPECT_EQ(reply.job().reason(), WAIT_PRIORITY);
  EXPECT_EQ(reply.ahead(), 1u);
  EXPECT_EQ(reply.start_time(), reply.now() + 90 * 60);
  EXPECT_EQ(reply.start_by_limits(), reply.start_time());
  EXPECT_EQ(reply.free_now().find("0 of 12 CPUs"), 0u) << reply.free_now();
  bool runs = false, waits = false;
  for (const api::JobInTheWay& one : reply.jobs()) {
    runs |= one.job_id() == running && one.running();
    waits |= one.job_id() == before && !one.running();
  }
  EXPECT_TRUE(runs);
  EXPECT_TRUE(waits);
}

TEST_F(ExplainingTest, ASmallerRequestThatStartsSoonerIsNamed) {
  submit(kAlice, whole(2, 600));
  const uint32_t job = submit(kBob, whole(2, 60));
  const api::ExplainJobReply reply = explain(job);
  ASSERT_GT(reply.smaller_size(), 0);
  EXPECT_LE(reply.smaller_size(), 6);
  EXPECT_LT(reply.smaller(0).start_time(), reply.start_time());
  for (int i = 1; i < reply.smaller_size(); ++i)
    EXPECT_LE(reply.smaller(i - 1).start_time(), reply.smaller(i).start_time());
}

TEST_F(ExplainingTest, WhatRunsIsToldWhenItEnds) {
  const uint32_t job = submit(kAlice, whole(1, 60));
  const api::ExplainJobReply reply = explain(job);
  EXPECT_EQ(reply.job().state(), JOB_RUNNING);
  EXPECT_EQ(reply.end_time(), reply.now() + 3600);
  EXPECT_EQ(reply.smaller_size(), 0);
}

TEST_F(ExplainingTest, WhatWaitsForAnotherJobIsToldOfIt) {
  const uint32_t first = submit(kAlice, whole(1, 60));
  const uint32_t job = submit(kAlice, [&](JobSpec& spec) {
    Dependency& term = *spec.add_dependencies();
    term.set_type(AFTER_ANY);
    term.set_job_id(first);
  });
  const api::ExplainJobReply reply = explain(job);
  EXPECT_EQ(reply.job().reason(), WAIT_DEPENDENCY);
  ASSERT_EQ(reply.jobs_size(), 1);
  EXPECT_EQ(reply.jobs(0).job_id(), first);
  EXPECT_EQ(reply.start_time(), reply.now() + 3600);
}

TEST_F(ExplainingTest, ALongListOfAwaitedJobsIsCut) {
  std::vector<uint32_t> held;
  for (int i = 0; i < 20; ++i)
    held.push_back(submit(kAlice, [](JobSpec& spec) { spec.set_begin_time(int64_t{1} << 40); }));
  const uint32_t job = submit(kAlice, [&](JobSpec& spec) {
    for (const uint32_t one : held) {
      Dependency& term = *spec.add_dependencies();
      term.set_type(AFTER_ANY);
      term.set_job_id(one);
    }
  });
  EXPECT_EQ(explain(job).jobs_size(), 8);
}

TEST_F(ExplainingTest, HeldAndDrained) {
  const uint32_t held = submit(kAlice, [](JobSpec& spec) { spec.set_hold(true); });
  EXPECT_EQ(explain(held).job().reason(), WAIT_HELD_USER);
  rpc::RequestEnvelope drain;
  drain.body<api::UpdateNodeRequest>().set_node_list("n[1-3]");
  for (const auto& [name, value] : {std::pair{"State", "DRAIN"}, {"Reason", "a fan is broken"}}) {
    api::Field& field = *drain.body<api::UpdateNodeRequest>().add_fields();
    field.set_name(name);
    field.set_value(value);
  }
  ASSERT_EQ(outcome(kRoot, drain), 0u) << what_was_said();
  const uint32_t job = submit(kAlice);
  const api::ExplainJobReply reply = explain(job);
  ASSERT_EQ(reply.unavailable_nodes_size(), 3);
  EXPECT_EQ(reply.unavailable_nodes(0), "n1: drained (a fan is broken)");
}

TEST_F(ExplainingTest, WhatIsNotThereOrNotToBeSeen) {
  EXPECT_EQ(outcome(kAlice, why(4711)), static_cast<uint32_t>(kInvalidJobId));
  const uint32_t job = submit(kAlice);
  EXPECT_EQ(outcome(kBob, why(job)), 0u);
  start("private_jobs = true\n");
  const uint32_t secret = submit(kAlice, whole(3, 60));
  EXPECT_EQ(outcome(kBob, why(secret)), static_cast<uint32_t>(kInvalidJobId));
  const uint32_t waiting = submit(kBob, whole(3, 60));
  const api::ExplainJobReply reply = explain(waiting, kBob);
  ASSERT_EQ(reply.jobs_size(), 1);
  EXPECT_EQ(reply.jobs(0).user(), "");
  EXPECT_NE(explain(waiting).jobs(0).user(), "");
}

TEST_F(ExplainingTest, ATaskOfAnArrayIsNamed) {
  submit(kAlice, whole(3, 60));
  const uint32_t array = submit(kAlice, [](JobSpec& spec) {
    IndexRange& range = *spec.mutable_array()->add_ranges();
    range.set_first(1);
    range.set_last(9);
  });
  rpc::RequestEnvelope message = why(array);
  IndexRange& task = *message.body<api::ExplainJobRequest>().mutable_job()->add_tasks();
  task.set_first(7);
  task.set_last(7);
  EXPECT_EQ(ask(kAlice, message).read<api::ExplainJobReply>().task(), std::to_string(array) + "_7");
  EXPECT_EQ(explain(array).task(), "");
}

}  // namespace
}  // namespace minke::engine::simulation
