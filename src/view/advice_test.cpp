#include "view/advice.h"

#include <gtest/gtest.h>

#include "api/accounting.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/measurement.pb.h"
#include "view/test_records.h"

namespace minke::view {
namespace {

class AdviceOn : public testing::Test {
 protected:
  void SetUp() override {
    model::JobRecord& job = *accounted_.mutable_job();
    job = test::job(1, "train", model::JOB_COMPLETE);
    job.set_start_time(test::kMidnight);
    job.set_end_time(test::kMidnight + 7200);
    job.set_time_limit_minutes(600);
    job.set_num_cpus(4);
    job.set_memory_mib(1000);
    job.mutable_usage()->set_user_microseconds(int64_t{4} * 7000 * 1000000);
    job.mutable_usage()->set_max_rss_kib(800 * 1024);
  }
  std::vector<std::string_view> rules(std::string_view script = "",
                                      const std::optional<ThreadsMeasured>& threads = std::nullopt) {
    std::vector<std::string_view> names;
    for (const Advice& one : advice_on(accounted_, script, threads, test::kMidnight + 7200))
      names.push_back(one.rule);
    return names;
  }
  using Rules = std::vector<std::string_view>;
  api::AccountedJob accounted_;
};

TEST_F(AdviceOn, AWellUsedJobIsNone) {
  EXPECT_EQ(rules("python train.py\n"), Rules());
}

TEST_F(AdviceOn, Processors) {
  accounted_.mutable_job()->mutable_usage()->set_user_microseconds(int64_t{7000} * 1000000);
  EXPECT_EQ(rules(), Rules{"serial"});
  accounted_.mutable_job()->mutable_usage()->set_user_microseconds(int64_t{2} * 7000 * 1000000);
  EXPECT_EQ(rules(), Rules{"half"});
  accounted_.mutable_job()->mutable_usage()->set_user_microseconds(int64_t{4} * 7000 * 1000000);
  EXPECT_EQ(rules("", ThreadsMeasured{5, 5}), Rules());
  EXPECT_EQ(rules("", ThreadsMeasured{5.1, 8}), Rules{"oversubscribed"});
  EXPECT_EQ(rules("", ThreadsMeasured{3, 8}), Rules());
  EXPECT_EQ(rules("", ThreadsMeasured{2.9, 8.1}), (Rules{"underused", "many_threads"}));
}

TEST_F(AdviceOn, ThreadsAreAveragedOverTheSamples) {
  model::Series series;
  EXPECT_FALSE(threads_measured(series));
  for (const int change : {8, 0, -4}) series.add_threads(change);
  for (const int change : {4, -3, 0}) series.add_running_threads(change);
  EXPECT_DOUBLE_EQ(threads_measured(series)->running, 2);
  EXPECT_DOUBLE_EQ(threads_measured(series)->all, 20.0 / 3);
}

TEST_F(AdviceOn, Memory) {
  accounted_.mutable_job()->mutable_usage()->set_max_rss_kib(90 * 1024);
  EXPECT_EQ(rules(), Rules{"little_memory"});
  accounted_.mutable_job()->set_state(model::JOB_OOM);
  EXPECT_EQ(rules(), Rules{"out_of_memory"});
}

TEST_F(AdviceOn, Gpus) {
  model::Usage::Gpus& gpus = *accounted_.mutable_job()->mutable_usage()->mutable_gpus();
  gpus.set_count(2);
  for (const auto& [percent, rule] : {std::pair(0.5, "unused_gpu"), std::pair(19.0, "idle_gpu")}) {
    gpus.set_utilization(2 * percent);
    EXPECT_EQ(rules(), Rules{rule});
  }
  gpus.set_utilization(160);
  EXPECT_EQ(rules(), Rules());
  gpus.set_utilization(80);
  gpus.set_most_memory_bytes(39'000'000'000);
  EXPECT_EQ(rules(), Rules{"part_of_gpu"});
  gpus.set_most_memory_bytes(41'000'000'000);
  EXPECT_EQ(rules(), Rules());
}

TEST_F(AdviceOn, TimeAndScript) {
  accounted_.mutable_job()->set_time_limit_minutes(30);
  EXPECT_EQ(rules(), Rules{"short_limit"});
  accounted_.mutable_job()->set_end_time(test::kMidnight + 3599);
  EXPECT_EQ(rules(), (Rules{"short_limit", "short_run"}));
  accounted_.mutable_job()->set_end_time(test::kMidnight + 7200);
  accounted_.mutable_job()->set_time_limit_minutes(600);
  EXPECT_EQ(rules("# sleep\nsleep 10\nsleeper\nconda activate x\n"), (Rules{"sleep", "conda"}));
  EXPECT_EQ(rules("if x; then /bin/sleep 5; fi; source activate y\n"), (Rules{"sleep", "conda"}));
  EXPECT_EQ(rules("echo sleep 5; cat <<E\nsleep 5\nE\n"), Rules());
  accounted_.mutable_job()->set_state(model::JOB_PENDING);
  EXPECT_EQ(rules(), Rules());
}

TEST_F(AdviceOn, ProgramsThatCannotUseWhatTheyHave) {
  model::JobRecord& job = *accounted_.mutable_job();
  job.set_num_tasks(4);
  EXPECT_EQ(rules("gmx_mpi mdrun -s x\n"), Rules{"gromacs_no_srun"});
  EXPECT_EQ(rules("srun gmx_mpi mdrun -ntomp 1\n"), Rules());
  EXPECT_EQ(rules("srun gmx_mpi mdrun -ntomp 4\n"), Rules{"gromacs_threads"});
  EXPECT_EQ(rules("srun gmx mdrun\n"), Rules{"gromacs_binary"});
  EXPECT_EQ(rules("gmx grompp -f x\n"), Rules());
  EXPECT_EQ(rules("gmx mdrun -nt 8\ngmx mdrun -nt 4\ngmx mdrun -nt $SLURM_CPUS_PER_TASK\n"),
            Rules{"gromacs_threads"});
  EXPECT_EQ(rules("pmemd.MPI -O\n"), Rules{"amber_no_srun"});
  EXPECT_EQ(rules("mpirun -np 4 pmemd.MPI -O\n"), Rules());
  EXPECT_EQ(rules("sander -O\n"), Rules{"amber_serial"});
  EXPECT_EQ(rules("lmp -in x\n"), Rules{"lammps_no_srun"});
  EXPECT_EQ(rules("srun lmp_mpi -in x\n"), Rules());
  job.add_tres_gres()->set_name("gpu");
  job.mutable_tres_gres(0)->set_count(2);
  EXPECT_EQ(rules("srun pmemd.MPI -O\n"), Rules{"amber_gpu"});
  EXPECT_EQ(rules("pmemd.cuda -O\n"), Rules{"amber_one_gpu"});
  EXPECT_EQ(rules("srun lmp -in x\n"), Rules{"lammps_gpu"});
  EXPECT_EQ(rules("srun lmp -sf gpu -in x\n"), Rules());
  const auto told = advice_on(accounted_, "\n srun lmp -in x", std::nullopt, test::kMidnight + 7200);
  EXPECT_EQ(told.at(0).numbers, (std::vector<std::pair<std::string_view, double>>{{"line", 2}, {"gpus", 2}}));
}

}  // namespace
}  // namespace minke::view
