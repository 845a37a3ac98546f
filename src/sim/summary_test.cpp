#include "sim/summary.h"

#include <gtest/gtest.h>

#include "sim/plot.h"
#include "sim/replay.h"

namespace minke::sim {
namespace {

std::vector<TraceJob> three_jobs() {
  std::vector<TraceJob> jobs(3);
  jobs[0] = {.id = 1, .submit = 100, .runs = 100, .asks = 100, .processors = 2, .user = 1};
  jobs[1] = {.id = 2, .submit = 100, .runs = 4, .asks = 100, .processors = 1, .user = 2};
  jobs[2] = {.id = 3, .submit = 200, .runs = 100, .asks = 100, .processors = 4, .user = 1};
  return jobs;
}

TEST(Summary, WorkedByHand) {
  const auto jobs = three_jobs();
  const std::vector<std::int64_t> starts{100, 136, 300};
  const Summary summary = summarize(jobs, starts, 4);
  EXPECT_EQ(summary.all.jobs, 3u);
  EXPECT_DOUBLE_EQ(summary.all.mean_wait, (0 + 36 + 100) / 3.0);
  EXPECT_EQ(summary.all.median_wait, 36);
  EXPECT_EQ(summary.all.longest_wait, 100);
  EXPECT_DOUBLE_EQ(summary.all.mean_bounded_slowdown, (1 + 40 / 10.0 + 2) / 3);
  EXPECT_EQ(summary.makespan, 300);
  EXPECT_DOUBLE_EQ(summary.utilisation, (200 + 4 + 400) / (300.0 * 4));
  const auto users = summarize_by(jobs, starts, &TraceJob::user);
  ASSERT_EQ(users.size(), 2u);
  EXPECT_EQ(users[0].name, 1u);
  EXPECT_DOUBLE_EQ(users[0].figures.mean_wait, 50);
}

TEST(Summary, WhatNeverStartedIsLeftOut) {
  const auto jobs = three_jobs();
  const Summary summary = summarize(jobs, std::vector<std::int64_t>{100, kNeverStarted, 300}, 4);
  EXPECT_EQ(summary.all.jobs, 2u);
  EXPECT_EQ(summary.never_started, 1u);
  EXPECT_EQ(summarize({}, {}, 4).all.jobs, 0u);
}

TEST(Timeline, MeansOfEachStretch) {
  const auto jobs = three_jobs();
  const Timeline line = timeline(jobs, std::vector<std::int64_t>{100, 136, 300}, 6);  // of 50 s
  const std::vector<double> running{2 + 4 / 50.0, 2, 0, 0, 4, 4};
  const std::vector<double> waiting{36 / 50.0, 0, 1, 1, 0, 0};
  for (int i = 0; i < 6; ++i) {
    EXPECT_NEAR(line.running[i], running[i], 1e-9) << i;
    EXPECT_NEAR(line.waiting[i], waiting[i], 1e-9) << i;
  }
  EXPECT_EQ(
      terminal_plot(line, 4),
      "in use   ▅▄  ██  of 4 processors\nwaiting  ▆ ██    at most 1 jobs\n         over 0.003472 days\n");
  const std::string svg = svg_plot({{"easy", line}}, 4, "a<b>&\"c\"");
  EXPECT_NE(svg.find("<title>a&lt;b&gt;&amp;&quot;c&quot;</title>"), std::string::npos);
  EXPECT_NE(svg.find("<polyline"), std::string::npos);
}

}  // namespace
}  // namespace minke::sim
