// The text of minke why: one sentence for each reason, and the queue and the forecast after it.
#include "view/why.h"

#include <gtest/gtest.h>

#include "api/explanation.pb.h"
#include "view/test_records.h"

namespace minke::view {
namespace {

using test::at;

class Why : public testing::Test {
 protected:
  Why() {
    test::use_utc();
    *reply_.mutable_job() = test::job(7, "train", model::JOB_PENDING);
    reply_.mutable_job()->set_priority(5);
  }

  model::JobRecord& job() { return *reply_.mutable_job(); }
  std::string report() { return why_report(reply_, test::context_at(1, 0, 0)); }
  // The text below the heading.
  std::string waits(model::StateReason reason, const std::string& detail = "") {
    job().set_reason(reason);
    job().set_reason_detail(detail);
    const std::string text = report();
    return text.substr(text.find('\n') + 1);
  }

  api::ExplainJobReply reply_;
};

TEST_F(Why, NodesThatCannotBeHad) {
  const auto waits_for_nodes = [&](const std::string& detail) {
    return waits(model::WAIT_NODE_NOT_AVAIL, detail);
  };
  EXPECT_EQ(waits_for_nodes("n1, the launcher is gone"),
            "Nothing starts: the launcher is gone. More: minke doctor, minke log.\n");
  EXPECT_EQ(waits_for_nodes("Reserved for maintenance"),
            "Nodes that it needs are reserved for maintenance before it could end.\n");
  EXPECT_EQ(waits_for_nodes("Reserved: course, from 10:00"),
            "Nodes that it needs are reserved for others before it could end.\n");
  EXPECT_EQ(waits_for_nodes("n1, no space left"),
            "It could start, but cannot be launched for now: no space left. It is tried again by itself.\n");
  EXPECT_EQ(waits_for_nodes("ReqNodeNotAvail, UnavailableNodes:n[1-2]"),
            "Nodes that it needs are down or drained: n[1-2].\n");
  EXPECT_EQ(waits_for_nodes("ReqNodeNotAvail, UnavailableNodes:"),
            "Nodes that it needs are down or drained.\n");
  EXPECT_EQ(waits_for_nodes("ReqNodeNotAvail, May be reserved for other job"),
            "Nodes that it needs are drained, or reserved for others before it could end.\n");
  EXPECT_EQ(waits_for_nodes(""), "Nodes that it needs are down or drained.\n");
}

TEST_F(Why, HeldAndLimitedJobs) {
  EXPECT_EQ(waits(model::WAIT_HELD_USER), "It is held. To let it go: scontrol release 7\n");
  job().mutable_spec()->set_admin_comment("DiskQuotaExceeded: 5 of 3 files in /scratch");
  EXPECT_EQ(waits(model::WAIT_HELD),
            "It is held until there is less on the disk: DiskQuotaExceeded: 5 of 3 files in /scratch.\n");
  EXPECT_EQ(waits(model::WAIT_NO_REASON), "It has just been submitted, or is about to start.\n");
  job().set_account("physics");
  job().set_qos("long");
  EXPECT_EQ(
      waits(model::ASSOC_GRP_CPU),
      "A limit of its account holds it up, or of its user there (AssocGrpCpuLimit). The limits: sacctmgr "
      "show assoc where account=physics\n");
  EXPECT_EQ(waits(model::QOS_MAX_JOBS_PER_USER),
            "A limit of its QOS holds it up (QOSMaxJobsPerUserLimit). The limits: sacctmgr show qos long\n");
  EXPECT_EQ(waits(model::FAIL_SYSTEM), "It waits because of SystemFailure.\n");
  reply_.set_limit("root may run one job");
  EXPECT_EQ(waits(model::QOS_MAX_JOBS_PER_USER),
            "A limit holds it up (QOSMaxJobsPerUserLimit). root may run one job.\n");
}

TEST_F(Why, TheQueueAndTheForecast) {
  reply_.set_ahead(1);
  reply_.set_start_time(at(3, 10, 0));
  reply_.set_start_nodes("n1");
  reply_.set_runs_of_all(3);
  api::JobInTheWay& before = *reply_.add_jobs();
  before.set_job_id(6);
  before.set_user("ann");
  before.set_priority(9);
  before.set_num_cpus(2);
  api::SmallerRequest& smaller = *reply_.add_smaller();
  smaller.set_options("--time=1:00:00");
  smaller.set_instead_of("--time=4:00:00");
  smaller.set_start_time(at(1, 0, 0));
  reply_.add_unavailable_nodes("n2: DRAIN (fan)");
  EXPECT_EQ(
      waits(model::WAIT_PRIORITY),
      "1 job comes before it. Its priority is 5.\n"
      "\n"
      "Nodes of its partition that take no jobs:\n"
      "  n2: DRAIN (fan)\n"
      "\n"
      "Before it:\n"
      "  6 of ann: 2 CPUs, priority 9\n"
      "\n"
      "Expected start: in about 2 h 10 min (2026-11-21T03:10:00) on n1, going by how long the last 3 jobs "
      "ran.\n"
      "\n"
      "It would start sooner with\n"
      "  --time=1:00:00 instead of --time=4:00:00: now\n");
  // Without jobs ahead and a known start, there is no queue to describe.
  reply_.Clear();
  *reply_.mutable_job() = test::job(7, "train", model::JOB_PENDING);
  EXPECT_EQ(waits(model::WAIT_RESERVATION), "It waits for its reservation, .\n");
}

TEST_F(Why, RunningAndSuspendedJobs) {
  job() = test::on_node(test::job(7, "train", model::JOB_RUNNING), "n1", at(0, 30, 0));
  job().set_end_time(at(2, 0, 0));
  reply_.set_runs_of_all(1);
  reply_.set_runs_of_user(1);
  reply_.set_end_time(at(1, 30, 0));
  EXPECT_EQ(
      report(),
      "Job 7 (train) of root: RUNNING\n"
      "It runs on n1 since 2026-11-21T00:30:00.\n"
      "Its time limit ends in about 1 h (2026-11-21T02:00:00).\n"
      "Expected end: in about 30 min (2026-11-21T01:30:00), going by how long the user's last 1 job ran.\n");
  job().set_state(model::JOB_SUSPENDED);
  job().set_end_time(0);
  EXPECT_EQ(report(),
            "Job 7 (train) of root: SUSPENDED\n"
            "It runs on n1 since 2026-11-21T00:30:00.\n"
            "It is suspended: scontrol resume lets it go on.\n"
            "It has no time limit.\n");
}

}  // namespace
}  // namespace minke::view
