#include "engine/slurm/explanation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/explanation.pb.h"
#include "api/job_filter.pb.h"
#include "engine/slurm/show_lines.h"
#include "engine/slurm/shown_machine.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "sched/world.h"

namespace minke::engine::slurm {
namespace {

constexpr int64_t kNow = 1795420500;

model::JobRecord job(uint32_t id, uint32_t uid, model::JobState state, uint32_t cpus, uint32_t minutes) {
  model::JobRecord job;
  job.set_job_id(id);
  job.set_uid(uid);
  job.set_user_name(uid == 2001 ? "alice" : "bob");
  job.set_state(state);
  job.set_partition("main");
  job.set_priority(1000 - id);
  job.set_num_cpus(cpus);
  job.set_num_nodes(1);
  job.set_num_tasks(cpus);
  job.set_memory_mib(100);
  job.set_time_limit_minutes(minutes);
  job.set_submit_time(kNow - 3600);
  job.set_eligible_time(kNow - 3600);
  job.mutable_spec()->set_partition("main");
  job.mutable_spec()->set_ntasks(cpus);
  job.mutable_spec()->set_min_nodes(1);
  job.mutable_spec()->set_mem_per_node_mib(100);
  job.mutable_spec()->set_time_limit_minutes(minutes);
  if (state == model::JOB_RUNNING) {
    job.set_start_time(kNow - 600);
    job.set_end_time(kNow - 600 + 60 * minutes);
    job.set_node_list("n1");
    model::NodeAllocation& node = *job.add_nodes();
    node.set_node("n1");
    node.set_cpus(cpus);
    node.set_memory_mib(100);
  } else {
    job.set_reason(id == 2 ? model::WAIT_RESOURCES : model::WAIT_PRIORITY);
  }
  return job;
}

sched::WorldRecords records() {
  sched::WorldRecords records;
  records.nodes.push_back(node_of(ShownRecord(
      "NodeName=n1 CPUAlloc=4 CPUTot=4 RealMemory=4000 AllocMem=100 Sockets=1 Boards=1 CoresPerSocket=4 "
      "ThreadsPerCore=1 State=ALLOCATED Partitions=main AllocTRES=cpu=4,mem=100M")));
  records.nodes.push_back(node_of(ShownRecord(
      "NodeName=n2 CPUAlloc=0 CPUTot=4 RealMemory=4000 AllocMem=0 Sockets=1 Boards=1 CoresPerSocket=4 "
      "ThreadsPerCore=1 State=IDLE+DRAIN Partitions=main Reason=fan [root@1795420000]")));
  records.partitions.push_back(
      partition_of(ShownRecord("PartitionName=main Default=YES MaxTime=UNLIMITED MaxNodes=UNLIMITED "
                               "Nodes=n[1-2] State=UP PriorityTier=1 "
                               "TotalCPUs=8 TotalNodes=2 OverSubscribe=NO")));
  records.jobs = {job(1, 2001, model::JOB_RUNNING, 4, 60), job(2, 2002, model::JOB_PENDING, 4, 30),
                  job(3, 2001, model::JOB_PENDING, 2, 10)};
  return records;
}

TEST(Explanation, TellsWhenAJobWillStartAndWhoIsBeforeIt) {
  const sched::WorldRecords all = records();
  const auto world = sched::World::build(all, kNow);
  ASSERT_TRUE(world) << world.error().message;
  api::JobSelector asked;
  asked.set_job_id(3);
  api::ExplainJobReply reply;
  ASSERT_TRUE(explain(*world, asked, reply));
  explain_nodes(all.nodes, all.partitions, reply);
  EXPECT_EQ(reply.ahead(), 1u);
  // The first has 50 minutes left; the one before this takes the whole node for 30.
  EXPECT_EQ(reply.start_time(), kNow + 80 * 60);
  EXPECT_EQ(reply.start_nodes(), "n1");
  ASSERT_GE(reply.jobs_size(), 1);
  EXPECT_EQ(reply.jobs(0).job_id(), 2u);
  EXPECT_EQ(reply.jobs(0).start_time(), kNow + 50 * 60);
  ASSERT_EQ(reply.unavailable_nodes_size(), 1);
  EXPECT_EQ(reply.unavailable_nodes(0), "n2: drained (fan)");
  EXPECT_EQ(reply.free_now(), "0 of 4 CPUs, 3 of 3 GiB of memory");
  EXPECT_EQ(reply.runs_of_all(), 0u);
}

TEST(Explanation, GoesByHowLongTheUsersJobsRan) {
  sched::WorldRecords all = records();
  for (uint32_t i = 0; i < 10; ++i) {
    model::JobRecord ended = job(100 + i, 2002, model::JOB_COMPLETE, 4, 30);
    ended.set_start_time(kNow - 20000 + i);
    ended.set_end_time(kNow - 20000 + i + 120);
    all.jobs.push_back(ended);
  }
  const auto world = sched::World::build(std::move(all), kNow);
  ASSERT_TRUE(world) << world.error().message;
  api::JobSelector asked;
  asked.set_job_id(3);
  api::ExplainJobReply reply;
  ASSERT_TRUE(explain(*world, asked, reply));
  EXPECT_EQ(reply.runs_of_all(), 10u);
  EXPECT_LT(reply.start_time(), kNow + 80 * 60);
}

TEST(Explanation, SaysThatTheForecastLeavesOutWhatIsFarBackInTheQueue) {
  sched::WorldRecords all = records();
  for (uint32_t id = 10; id < 1200; ++id) all.jobs.push_back(job(id, 2002, model::JOB_PENDING, 4, 30));
  for (model::JobRecord& one : all.jobs) one.set_priority(10000 - one.job_id());
  const auto world = sched::World::build(std::move(all), kNow);
  ASSERT_TRUE(world) << world.error().message;
  const auto notes_of = [&](uint32_t id) {
    api::JobSelector asked;
    asked.set_job_id(id);
    api::ExplainJobReply reply;
    EXPECT_TRUE(explain(*world, asked, reply));
    return reply.notes_size();
  };
  EXPECT_EQ(notes_of(500), 0);
  EXPECT_EQ(notes_of(1199), 1);
}

TEST(Explanation, KnowsNothingOfAJobThatIsNotThere) {
  const auto world = sched::World::build(records(), kNow);
  ASSERT_TRUE(world);
  api::JobSelector asked;
  asked.set_job_id(77);
  api::ExplainJobReply reply;
  EXPECT_FALSE(explain(*world, asked, reply));
}

}  // namespace
}  // namespace minke::engine::slurm
