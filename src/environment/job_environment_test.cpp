// The variables of jobs, and how they override what the user exported.
#include "environment/job_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/job_record.pb.h"

namespace minke::environment {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

model::JobRecord job_on_two_nodes() {
  model::JobRecord record;
  record.set_job_id(12);
  record.set_user_name("ada");
  record.set_node_list("n[1-2]");
  record.set_partition("main");
  record.set_time_limit_minutes(10);
  record.set_start_time(1000);
  record.set_num_tasks(3);
  record.mutable_spec()->set_name("train");
  record.mutable_spec()->set_work_dir("/work");
  for (const auto& [name, cpus] : {std::pair{"n1", 4u}, std::pair{"n2", 4u}}) {
    auto& node = *record.add_nodes();
    node.set_node(name);
    node.set_cpus(cpus);
    node.set_tasks(name == std::string("n1") ? 2 : 1);
    auto& gpus = *node.add_gres();
    gpus.set_name("gpu");
    gpus.add_indices(0);
    gpus.add_indices(2);
  }
  return record;
}

TEST(JobEnvironment, CountsPerNodeAreCompressed) {
  EXPECT_EQ(counts_per_node({2, 2, 2, 1}), "2(x3),1");
  EXPECT_EQ(counts_per_node({1}), "1");
  EXPECT_EQ(counts_per_node({}), "");
}

TEST(JobEnvironment, NamesWhatTheJobHas) {
  const auto variables =
      allocation_environment(job_on_two_nodes(), {.cluster_name = "lab", .home = "/h", .tmp_dir = "/t"});
  for (const char* expected :
       {"SLURM_JOB_ID=12", "SLURM_JOBID=12", "SLURM_JOB_NAME=train", "SLURM_JOB_NODELIST=n[1-2]",
        "SLURM_NNODES=2", "SLURM_JOB_CPUS_PER_NODE=4(x2)", "SLURM_TASKS_PER_NODE=4(x2)", "SLURM_TMPDIR=/t",
        "SLURM_SUBMIT_DIR=/work", "SLURM_CLUSTER_NAME=lab", "SLURM_JOB_END_TIME=1600"}) {
    EXPECT_THAT(variables, Contains(expected));
  }
  EXPECT_THAT(variables, Not(Contains(StartsWith("SLURM_NTASKS="))))
      << "only where it was asked for, as in Slurm";
  EXPECT_THAT(variables, Not(Contains(StartsWith("SLURM_ARRAY_"))));
}

TEST(JobEnvironment, TasksAreCountedWhereTheyWereAskedForElseCpusAre) {
  model::JobRecord record = job_on_two_nodes();
  record.mutable_spec()->set_cpus_per_task(2);
  EXPECT_THAT(allocation_environment(record, {}), Contains("SLURM_TASKS_PER_NODE=2(x2)"));
  record.mutable_spec()->set_ntasks(3);
  EXPECT_THAT(allocation_environment(record, {}), Contains("SLURM_TASKS_PER_NODE=2,1"));
}

TEST(JobEnvironment, BatchScriptsSeeTheirNodesGpus) {
  const auto variables =
      batch_environment(job_on_two_nodes(), {{"CUDA_VISIBLE_DEVICES", "0,1"}, {"GPU_DEVICE_ORDINAL", "0,1"}});
  EXPECT_THAT(variables, Contains("CUDA_VISIBLE_DEVICES=0,1"));
  EXPECT_THAT(variables, Contains("SLURM_JOB_GPUS=0,2"));
  EXPECT_THAT(variables, Contains("SLURM_GPUS_ON_NODE=2"));
  EXPECT_THAT(variables, Contains("SLURMD_NODENAME=n1"));
}

std::string block(std::initializer_list<std::string_view> lines) {
  std::string result;
  for (const auto line : lines) result.append(line).push_back('\0');
  return result;
}

TEST(JobEnvironment, AdditionsReplaceWhatWasThere) {
  EXPECT_EQ(merge_environment(block({"A=1", "SLURM_JOB_ID=7", "B="}), {"SLURM_JOB_ID=8"}, ""),
            block({"A=1", "B=", "SLURM_JOB_ID=8"}));
}

TEST(JobEnvironment, TheCommandsStandFirstOnPathOnce) {
  EXPECT_EQ(merge_environment(block({"PATH=/usr/bin"}), {}, "/h/bin"), block({"PATH=/h/bin:/usr/bin"}));
  EXPECT_EQ(merge_environment(block({"PATH=/x:/h/bin"}), {}, "/h/bin"), block({"PATH=/x:/h/bin"}));
  EXPECT_EQ(merge_environment("", {}, "/h/bin"), block({"PATH=/h/bin:/usr/local/bin:/usr/bin:/bin"}));
}

TEST(JobEnvironment, ABlockThatIsCutOffIsTakenAsItIs) {
  EXPECT_EQ(merge_environment("A=1", {"C=2"}, "").find("C=2"), 4u);
}

}  // namespace
}  // namespace minke::environment
