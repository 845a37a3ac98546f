// scontrol update job: each field with a valid and an invalid value, on a pending and on a running job, by
// its owner, by another user and by an operator.
#include <gtest/gtest.h>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "api/updates.pb.h"
#include "engine/embedded/simulation/request_test.h"
#include "model/error.h"
#include "model/job_terms.pb.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

constexpr uint32_t kDone = 0;

struct Row {
  const char* name;
  const char* right;
  const char* wrong;  // null: there is none
  uint32_t running;   // what the right one is answered with while the job runs
  bool operators = false;
};

class JobUpdate : public RequestTest {
 protected:
  uint32_t waiting() {
    return submit(kAlice, [](JobSpec& spec) {
      spec.set_begin_time(int64_t{1} << 40);
      spec.set_time_limit_minutes(30);
    });
  }
  uint32_t running() {
    const uint32_t job = submit(kAlice, [](JobSpec& spec) { spec.set_time_limit_minutes(30); });
    EXPECT_EQ(state(job), JOB_RUNNING);
    return job;
  }
};

class JobUpdateFields : public JobUpdate, public testing::WithParamInterface<Row> {};

TEST_P(JobUpdateFields, OfAJobThatWaits) {
  const Row& row = GetParam();
  const uint32_t job = waiting();
  EXPECT_EQ(outcome(kBob, update(job, row.name, row.right)), static_cast<uint32_t>(kAccessDenied));
  const uint32_t allowed = row.operators ? static_cast<uint32_t>(kAccessDenied) : kDone;
  EXPECT_EQ(outcome(kAlice, update(job, row.name, row.right)), allowed) << what_was_said();
  EXPECT_EQ(outcome(kRoot, update(job, row.name, row.right)), kDone) << what_was_said();
  const std::string before = shown(job).SerializeAsString();
  if (row.wrong == nullptr) return;
  EXPECT_NE(outcome(kRoot, update(job, row.name, row.wrong)), kDone);
  EXPECT_EQ(shown(job).SerializeAsString(), before);  // as it was
}

TEST_P(JobUpdateFields, OfAJobThatRuns) {
  const Row& row = GetParam();
  const uint32_t job = running();
  EXPECT_EQ(outcome(kBob, update(job, row.name, row.right)), static_cast<uint32_t>(kAccessDenied));
  EXPECT_EQ(outcome(kRoot, update(job, row.name, row.right)), row.running) << what_was_said();
  EXPECT_EQ(state(job), JOB_RUNNING);
}

TEST_P(JobUpdateFields, OfAJobThatHasEnded) {
  const Row& row = GetParam();
  const uint32_t job = running();
  engine().end_one(0, 0);
  EXPECT_EQ(outcome(kAlice, update(job, row.name, row.right)), static_cast<uint32_t>(kJobFinished));
  EXPECT_EQ(outcome(kBob, update(4711, row.name, row.right)), static_cast<uint32_t>(kInvalidJobId));
}

INSTANTIATE_TEST_SUITE_P(
    All, JobUpdateFields,
    testing::Values(
        Row{"Comment", "mine", nullptr, kDone}, Row{"JobName", "other", nullptr, kDone},
        Row{"AdminComment", "ours", nullptr, kDone, true}, Row{"TimeLimit", "20", "soon", kDone},
        Row{"TimeLimit", "45", "-100", kDone}, Row{"NumNodes", "2", "none", kNotSupported},
        Row{"NumTasks", "3", "few", kJobNotPending}, Row{"CPUsPerTask", "2", "99", kJobNotPending},
        Row{"MinMemoryNode", "500", "9000000", kJobNotPending},
        Row{"Partition", "short", "nowhere", kJobNotPending},
        Row{"ReqNodeList", "n2", "n9", kInvalidNodeName}, Row{"ExcNodeList", "n2", "n[1-3]", kJobNotPending},
        Row{"Features", "", "gold", kJobNotPending}, Row{"Gres", "gpu:1", "gpu:9", kJobNotPending},
        Row{"Licenses", "", "matlab", kJobNotPending}, Row{"StartTime", "now+1hour", "never", kJobNotPending},
        Row{"Dependency", "", "afterok:x", kJobNotPending},
        Row{"ReservationName", "", "beach", kJobNotPending}, Row{"Requeue", "0", "perhaps", kDone},
        Row{"Nice", "100", "kind", kDone}, Row{"Priority", "12", "high", kDone}),
    [](const testing::TestParamInfo<Row>& info) {
      return std::string(info.param.name) + std::to_string(info.index);
    });

TEST_F(JobUpdate, WhatAUserMayNotDoToHisOwnJob) {
  const uint32_t job = waiting();
  EXPECT_EQ(outcome(kAlice, update(job, "Nice", "-5")), static_cast<uint32_t>(kAccessDenied));
  EXPECT_EQ(outcome(kAlice, update(job, "Priority", "4294967000")), static_cast<uint32_t>(kAccessDenied));
  EXPECT_EQ(outcome(kAlice, update(job, "TimeLimit", "60")),
            kDone);  // it waits: others were promised nothing
  const uint32_t runs = running();
  EXPECT_EQ(outcome(kAlice, update(runs, "TimeLimit", "60")), static_cast<uint32_t>(kAccessDenied));
  EXPECT_EQ(outcome(kAlice, update(runs, "TimeLimit", "10")), kDone);
  EXPECT_EQ(shown(runs).time_limit_minutes(), 10u);
  EXPECT_EQ(outcome(kRoot, update(runs, "TimeLimit", "+50")), kDone);
  EXPECT_EQ(shown(runs).time_limit_minutes(), 60u);
}

TEST_F(JobUpdate, PriorityZeroHolds) {
  const uint32_t job = waiting();
  EXPECT_EQ(outcome(kRoot, update(job, "Priority", "0")), kDone);
  EXPECT_EQ(shown(job).reason(), WAIT_HELD_USER);
  EXPECT_EQ(shown(job).priority(), 0u);
  const uint32_t runs = running();
  EXPECT_EQ(outcome(kRoot, update(runs, "Priority", "0")), static_cast<uint32_t>(kJobFinished));
}

TEST_F(JobUpdate, AJobThatAsksForLessStarts) {
  submit(kAlice, [](JobSpec& spec) {
    spec.set_min_nodes(2);
    spec.set_exclusive(true);
  });
  const uint32_t job = submit(kAlice, [](JobSpec& spec) {
    spec.set_min_nodes(2);
    spec.set_exclusive(true);
  });
  EXPECT_EQ(state(job), JOB_PENDING);
  EXPECT_EQ(outcome(kAlice, update(job, "NumNodes", "1")), kDone) << what_was_said();
  EXPECT_EQ(state(job), JOB_RUNNING);
}

TEST_F(JobUpdate, ABeginTimeThatComesEarlierStartsIt) {
  const uint32_t job = waiting();
  EXPECT_EQ(outcome(kAlice, update(job, "StartTime", "now")), kDone) << what_was_said();
  engine().pass(2);
  EXPECT_EQ(state(job), JOB_RUNNING);
}

TEST_F(JobUpdate, DependenciesAreTakenAndGivenUp) {
  const uint32_t first = waiting(), job = waiting();
  EXPECT_EQ(outcome(kAlice, update(job, "StartTime", "now")), kDone);
  const uint32_t held = submit(kAlice, [](JobSpec& spec) { spec.set_hold(true); });
  EXPECT_EQ(outcome(kAlice, update(held, "Dependency", "afterany:" + std::to_string(first))), kDone);
  EXPECT_EQ(outcome(kAlice, update(first, "Dependency", "afterany:" + std::to_string(held))),
            static_cast<uint32_t>(kCircularDependency));
  EXPECT_EQ(outcome(kAlice, update(first, "Dependency", "afterany:" + std::to_string(first))),
            static_cast<uint32_t>(kCircularDependency));
  rpc::RequestEnvelope release;
  release.body<api::HoldRequest>().set_kind(api::HoldRequest::RELEASE);
  release.body<api::HoldRequest>().add_jobs()->set_job_id(held);
  EXPECT_EQ(outcome(kAlice, release), kDone);
  EXPECT_EQ(shown(held).reason(), WAIT_DEPENDENCY);
  EXPECT_EQ(outcome(kAlice, update(held, "Dependency", "")), kDone);
  EXPECT_EQ(state(held), JOB_RUNNING);
}

TEST_F(JobUpdate, AllOfItOrNothing) {
  const uint32_t job = waiting();
  rpc::RequestEnvelope both = update(job, "JobName", "other");
  api::Field& field = *both.body<api::UpdateJobRequest>().add_fields();
  field.set_name("Partition");
  field.set_value("nowhere");
  EXPECT_EQ(outcome(kAlice, both), static_cast<uint32_t>(kInvalidPartitionName));
  EXPECT_EQ(shown(job).spec().name(), "simulated");
}

TEST_F(JobUpdate, TooManyAndTooLong) {
  const uint32_t job = waiting();
  EXPECT_EQ(outcome(kAlice, update(job, "Colour", "red")), static_cast<uint32_t>(kNotSupported));
  rpc::RequestEnvelope many = update(job, "Comment", "x");
  for (int i = 0; i < 1000; ++i)
    *many.body<api::UpdateJobRequest>().add_fields() = many.read<api::UpdateJobRequest>().fields(0);
  EXPECT_EQ(outcome(kAlice, many), static_cast<uint32_t>(kNotSupported));
  EXPECT_NE(outcome(kAlice, update(job, "Comment", std::string(1 << 20, 'x'))), kDone);
}

TEST_F(JobUpdate, OneTaskOfAnArrayChangesAlone) {
  const uint32_t array = submit(kAlice, [](JobSpec& spec) {
    spec.set_begin_time(int64_t{1} << 40);
    spec.mutable_array()->add_ranges()->set_last(9);
  });
  rpc::RequestEnvelope message = update(array, "Comment", "alone");
  IndexRange& range = *message.body<api::UpdateJobRequest>().mutable_job()->add_tasks();
  range.set_first(4);
  range.set_last(4);
  EXPECT_EQ(outcome(kAlice, message), kDone) << what_was_said();
  const Job* task = core().state.find_task(array, 4);
  ASSERT_NE(task, nullptr);
  EXPECT_NE(task->id, array);
  EXPECT_EQ(shown(task->id).spec().comment(), "alone");
  EXPECT_EQ(shown(array).spec().comment(), "");
}

TEST_F(JobUpdate, ARunningJobGivesNodesBack) {
  const uint32_t job = submit(kAlice, [](JobSpec& spec) {
    spec.set_min_nodes(3);
    spec.set_exclusive(true);
  });
  ASSERT_EQ(shown(job).num_nodes(), 3u);
  EXPECT_EQ(outcome(kAlice, update(job, "NodeList", "n2")), static_cast<uint32_t>(kInvalidNodeName));
  EXPECT_NE(outcome(kAlice, update(job, "NumNodes", "0")), kDone);
  EXPECT_EQ(outcome(kAlice, update(job, "NumNodes", "1")), kDone) << what_was_said();
  EXPECT_EQ(shown(job).num_nodes(), 1u);
  EXPECT_EQ(shown(job).node_list(), "n1");
  const uint32_t next = submit(kBob, [](JobSpec& spec) { spec.set_node_list("n3"); });
  EXPECT_EQ(state(next), JOB_RUNNING);
}

TEST_F(JobUpdate, TheThrottleOfAnArray) {
  const uint32_t array = submit(kAlice, [](JobSpec& spec) {
    spec.mutable_array()->add_ranges()->set_last(9);
    spec.mutable_array()->set_max_running(1);
  });
  EXPECT_EQ(core().state.find_array(array)->running, 1u);
  EXPECT_EQ(outcome(kAlice, update(array, "ArrayTaskThrottle", "3")), kDone) << what_was_said();
  EXPECT_EQ(core().state.find_array(array)->running, 3u);
}

}  // namespace
}  // namespace minke::engine::simulation
