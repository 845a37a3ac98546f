#include "view/seff.h"

#include "view/colour.h"

#include <gtest/gtest.h>

#include "api/accounting.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/step_record.pb.h"
#include "view/test_records.h"

namespace minke::view {
namespace {

class Seff : public testing::Test {
 protected:
  void SetUp() override {
    model::JobRecord& job = *accounted_.mutable_job();
    job = test::job(12345678, "train", model::JOB_COMPLETE);
    job.set_user_name("jsmith");
    job.set_group_name("jsmith");
    job.set_start_time(test::kMidnight);
    job.set_end_time(test::kMidnight + 10166);
    job.set_memory_mib(128000);
    job.mutable_usage()->set_user_microseconds(10000000000);
    job.mutable_usage()->set_system_microseconds(138000000);
    job.mutable_usage()->set_max_rss_kib(218982);
    context_.cluster_name = "cedar";
  }
  api::AccountedJob accounted_;
  DisplayContext context_ = test::context_at(3, 0, 0);
};

TEST_F(Seff, OneCore) {
  EXPECT_EQ(seff_report(accounted_, context_),
            "Job ID: 12345678\n"
            "Cluster: cedar\n"
            "User/Group: jsmith/jsmith\n"
            "State: COMPLETED (exit code 0)\n"
            "Cores: 1\n"
            "CPU Utilized: 02:48:58\n"
            "CPU Efficiency: 99.72% of 02:49:26 core-walltime\n"
            "Job Wall-clock time: 02:49:26\n"
            "Memory Utilized: 213.85 MB\n"
            "Memory Efficiency: 0.17% of 125.00 GB\n");
}

TEST_F(Seff, SeveralCoresOfAnArrayTask) {
  model::JobRecord& job = *accounted_.mutable_job();
  job.set_num_cpus(8);
  job.set_num_nodes(2);
  job.set_state(model::JOB_FAILED);
  job.set_exit_code(3 << 8);
  job.set_array_job_id(12345670);
  job.set_array_task_id(4);
  model::StepRecord& step = *accounted_.add_steps();
  step.set_num_tasks(8);
  step.mutable_usage()->set_max_rss_kib(1048576);
  EXPECT_EQ(seff_report(accounted_, context_),
            "Job ID: 12345678\n"
            "Array Job ID: 12345670_4\n"
            "Cluster: cedar\n"
            "User/Group: jsmith/jsmith\n"
            "State: FAILED (exit code 3)\n"
            "Nodes: 2\n"
            "Cores per node: 4\n"
            "CPU Utilized: 02:48:58\n"
            "CPU Efficiency: 12.47% of 22:35:28 core-walltime\n"
            "Job Wall-clock time: 02:49:26\n"
            "Memory Utilized: 8.00 GB\n"
            "Memory Efficiency: 6.40% of 125.00 GB\n");
}

TEST_F(Seff, WaitingAndRunningJobs) {
  model::JobRecord& job = *accounted_.mutable_job();
  job.set_state(model::JOB_PENDING);
  job.clear_start_time();
  job.clear_end_time();
  EXPECT_EQ(seff_report(accounted_, context_),
            "Job ID: 12345678\n"
            "Cluster: cedar\n"
            "User/Group: jsmith/jsmith\n"
            "State: PENDING\n"
            "Cores: 1\n"
            "Efficiency not available for jobs in the PENDING state.\n");
  job.set_state(model::JOB_RUNNING);
  job.set_start_time(context_.now);
  job.clear_usage();
  EXPECT_EQ(seff_report(accounted_, context_),
            "Job ID: 12345678\n"
            "Cluster: cedar\n"
            "User/Group: jsmith/jsmith\n"
            "State: RUNNING\n"
            "Cores: 1\n"
            "CPU Utilized: 00:00:00\n"
            "CPU Efficiency: 0.00% of 00:00:00 core-walltime\n"
            "Job Wall-clock time: 00:00:00\n"
            "Memory Utilized: 0.00 MB\n"
            "Memory Efficiency: 0.00% of 125.00 GB\n"
            "WARNING: Efficiency statistics may be misleading for RUNNING jobs.\n");
}

TEST(SeffBars, StandBehindEfficiencies) {
  set_colour(ColourWish::kNever);
  EXPECT_EQ(with_bars("Cores: 1\nCPU Efficiency: 50.00% of 00:10:00 core-walltime\nMemory Efficiency: "
                      "250.00% of 1.00 GB\n"),
            "Cores: 1\n"
            "CPU Efficiency: 50.00% of 00:10:00 core-walltime        [||||||||||          ]\n"
            "Memory Efficiency: 250.00% of 1.00 GB                   [||||||||||||||||||||]\n");
  set_colour(ColourWish::kAuto);
}

}  // namespace
}  // namespace minke::view
