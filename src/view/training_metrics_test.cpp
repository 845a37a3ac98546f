// Metrics of training as minke metrics and minke jobs show them.
#include "view/training_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ml/metrics.h"
#include "model/usage.pb.h"
#include "view/test_records.h"

namespace minke::view {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

void add(ml::MetricSet& set, const std::string& name, std::initializer_list<double> values) {
  double step = 0;
  for (const double value : values) {
    set.add(name, &step, value);
    ++step;
  }
}

TEST(TrainingMetrics, TableOfOneJob) {
  ml::MetricSet set;
  add(set, "loss", {2, 0.5, 1});
  add(set, "accuracy", {0.25});
  const Metrics metrics = set.record(10);
  const model::JobRecord job = test::job(7, "train", model::JOB_RUNNING);
  EXPECT_EQ(metrics_report(job, metrics, set, {.curves = false}),
            "Job 7 (train), RUNNING\n"
            "METRIC    LAST  LEAST  LARGEST  STEP  POINTS\n"
            "loss         1    0.5        2     2       3\n"
            "accuracy  0.25   0.25     0.25     0       1\n");
  const std::string report = metrics_report(job, metrics, set, {});
  EXPECT_THAT(report, HasSubstr("RUNNING\n\nloss\n"));
  EXPECT_THAT(report, Not(HasSubstr("\naccuracy\n")));  // one point is not a curve
  EXPECT_THAT(report, HasSubstr("\n\nMETRIC"));
  EXPECT_EQ(
      metrics_json(job, metrics, set),
      R"({"job_id":7,"metrics":[{"name":"loss","last":1.0,"least":0.5,"largest":2.0,"points":3,"step":2,)"
      R"("curve":[[0.0,2.0],[1.0,0.5],[2.0,1.0]]},{"name":"accuracy","last":0.25,"least":0.25,)"
      R"("largest":0.25,"points":1,"step":0,"curve":[[0.0,0.25]]}]})"
      "\n");
}

TEST(TrainingMetrics, ManyCurvesAreShownWhenAskedFor) {
  ml::MetricSet set;
  for (int i = 0; i < 10; ++i) add(set, "m" + std::to_string(i), {1, 2});
  const Metrics metrics = set.record(10);
  const model::JobRecord job = test::job(7, "train", model::JOB_RUNNING);
  const std::string some = metrics_report(job, metrics, set, {});
  EXPECT_THAT(some, HasSubstr("\n2 more: --name NAME\n"));
  EXPECT_THAT(some, Not(HasSubstr("\nm8\n")));
  const std::string all = metrics_report(job, metrics, set, {.all = true});
  EXPECT_THAT(all, HasSubstr("\nm9\n"));
  EXPECT_THAT(all, Not(HasSubstr("more")));
}

class RankedJobs : public testing::Test {
 protected:
  void add_job(uint32_t id, std::initializer_list<double> losses) {
    ml::MetricSet set;
    if (losses.size() > 0) add(set, "loss", losses);
    records_.push_back(test::job(id, "j" + std::to_string(id), model::JOB_COMPLETE));
    records_.back().set_start_time(test::at(1, 0, 0));
    records_.back().set_end_time(test::at(1, 0, 9));
    metrics_.push_back(set.record(10));
  }
  std::vector<TrackedJob> ranked(const Ranking& ranking) {
    std::vector<TrackedJob> jobs;
    for (size_t i = 0; i < records_.size(); ++i) jobs.push_back({&records_[i], metrics_[i]});
    rank(jobs, ranking);
    return jobs;
  }
  std::vector<uint32_t> order(const Ranking& ranking) {
    std::vector<uint32_t> ids;
    for (const TrackedJob& job : ranked(ranking)) ids.push_back(job.job->job_id());
    return ids;
  }

  std::vector<model::JobRecord> records_;
  std::vector<Metrics> metrics_;
};

TEST_F(RankedJobs, ByOneMetric) {
  add_job(1, {});
  add_job(2, {9, 1});
  add_job(3, {2, 3});
  EXPECT_THAT(order({.metrics = {"loss"}}), ElementsAre(3, 2, 1));
  EXPECT_THAT(order({.metrics = {"loss"}, .ascending = true}), ElementsAre(2, 3, 1));
  EXPECT_THAT(order({.metrics = {"loss"}, .value = "largest"}), ElementsAre(2, 3, 1));
  EXPECT_THAT(order({.metrics = {"loss"}, .value = "least"}), ElementsAre(3, 2, 1));
  EXPECT_THAT(order({.metrics = {"none"}}), ElementsAre(1, 2, 3));
}

TEST_F(RankedJobs, AsTableAndJson) {
  add_job(2, {9, 1});
  add_job(13, {});
  const Ranking ranking{.metrics = {"loss", "x"}, .value = "largest"};
  const std::vector<TrackedJob> jobs = ranked(ranking);
  EXPECT_EQ(ranking_table(jobs, ranking, test::at(2, 0, 0)),
            "JOBID  NAME  STATE       ELAPSED  loss  x\n"
            "    2  j2    COMPLETED  00:00:09     9  -\n"
            "   13  j13   COMPLETED  00:00:09     -  -\n");
  EXPECT_EQ(ranking_json(jobs),
            R"([{"job_id":"2","name":"j2","state":"COMPLETED","metrics":{"loss":{"last":1.0,"least":1.0,)"
            R"("largest":9.0}}},{"job_id":"13","name":"j13","state":"COMPLETED","metrics":{}}])"
            "\n");
  EXPECT_THAT(first_metrics(jobs), ElementsAre("loss"));
  EXPECT_TRUE(has_any(jobs[0], {"x", "loss"}));
  EXPECT_FALSE(has_any(jobs[1], {"x", "loss"}));
}

}  // namespace
}  // namespace minke::view
