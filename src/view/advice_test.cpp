#include "view/advice.h"

#include <gtest/gtest.h>

#include "api/accounting.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
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
  std::vector<std::string_view> rules(std::string_view script = "", double threads = 0) {
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
  EXPECT_EQ(rules("", 8), Rules{"oversubscribed"});
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
}

TEST_F(AdviceOn, TimeAndScript) {
  accounted_.mutable_job()->set_time_limit_minutes(30);
  EXPECT_EQ(rules(), Rules{"short_limit"});
  accounted_.mutable_job()->set_time_limit_minutes(600);
  EXPECT_EQ(rules("# sleep\nsleep 10\nsleeper\nconda activate x\n"), (Rules{"sleep", "conda"}));
  accounted_.mutable_job()->set_state(model::JOB_PENDING);
  EXPECT_EQ(rules(), Rules());
}

}  // namespace
}  // namespace minke::view
