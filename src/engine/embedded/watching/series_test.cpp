#include "engine/embedded/watching/series.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "model/measurement.pb.h"
#include "model/usage.pb.h"

namespace minke::engine {
namespace {

using model::Sample;

Sample at(int64_t time, uint64_t cpu_milliseconds, uint64_t memory_kib, uint32_t utilization = 0) {
  Sample sample;
  sample.set_time(time);
  sample.set_cpu_milliseconds(cpu_milliseconds);
  sample.set_memory_kib(memory_kib);
  sample.set_energy_joules(static_cast<uint64_t>(time) * 100);
  Sample::Gpu& gpu = *sample.add_gpus();
  gpu.set_utilization(utilization);
  gpu.set_memory_mib(1000);
  gpu.set_milliwatts(300000);
  gpu.set_memory_utilization(utilization / 2);
  sample.set_cache_kib(memory_kib * 2);
  sample.set_shared_kib(memory_kib / 2);
  sample.set_received_kib(cpu_milliseconds * 3);
  sample.set_sent_kib(cpu_milliseconds * 4);
  sample.set_threads(8);
  sample.set_running_threads(utilization / 25);
  return sample;
}

TEST(Series, ComesBackAsItWasStored) {
  Series series({"GPU-a"});
  series.add(at(100, 10, 50, 80), 100);
  series.add(at(110, 5010, 40, 20), 110);
  const Series again = Series::of(series.stored());
  ASSERT_EQ(again.samples().size(), 2u);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(again.samples()[i].SerializeAsString(), series.samples()[i].SerializeAsString());
  EXPECT_EQ(again.gpus(), series.gpus());
  EXPECT_EQ(again.peak_memory_kib(), 50u);
}

TEST(Series, StaysShortHoweverLongTheJobRuns) {
  Series series({"GPU-a"});
  for (int64_t i = 0; i < 100000; ++i)
    series.add(
        at(1000 + i * 10, static_cast<uint64_t>(i) * 10000, i == 50000 ? 777 : 100, i % 2 == 0 ? 100 : 0),
        static_cast<double>(i) * 10);
  EXPECT_LE(series.samples().size(), kMostSamples);
  EXPECT_GT(series.samples().size(), kMostSamples / 4);
  EXPECT_EQ(series.peak_memory_kib(), 777u);
  EXPECT_EQ(series.samples().back().cpu_milliseconds(), 99999u * 10000);
  for (size_t i = 1; i < series.samples().size(); ++i)
    EXPECT_GT(series.samples()[i].time(), series.samples()[i - 1].time());
  EXPECT_LT(series.stored().ByteSizeLong(), 8192u);
  model::Usage usage;
  series.summarize(0, 10'000'000, {"GPU-a"}, usage);
  EXPECT_NEAR(usage.gpus().utilization(), 50, 3);
  EXPECT_EQ(series.samples().front().threads(), 8u);
  EXPECT_EQ(series.samples().front().running_threads(), 2u);  // the mean of 4 and 0
}

// A sample of a GPU whose multiprocessors were active for this; no figure: not measured.
Sample with_figure(int64_t time, std::optional<uint64_t> thousandths) {
  Sample sample = at(time, 0, 50);
  if (!thousandths) return sample;
  model::GpuFigure& figure = *sample.mutable_gpus(0)->add_figures();
  figure.set_part(model::GPU_SM_ACTIVE);
  figure.set_value(*thousandths);
  return sample;
}

TEST(Series, WhatWasNotMeasuredOfAGpuIsNoZero) {
  Series series({"GPU-a"});
  const std::vector<std::optional<uint64_t>> values = {std::nullopt, 500, 0, std::nullopt, 7};
  for (size_t i = 0; i < values.size(); ++i)
    series.add(with_figure(static_cast<int64_t>(100 + i), values[i]), static_cast<double>(i));
  const model::Series stored = series.stored();
  ASSERT_EQ(stored.gpus(0).parts_size(), 1);
  EXPECT_EQ(stored.gpus(0).parts(0).part(), model::GPU_SM_ACTIVE);
  const auto& column = stored.gpus(0).parts(0).values();
  EXPECT_EQ(std::vector<int64_t>(column.begin(), column.end()), (std::vector<int64_t>{0, 501, -500, -1, 8}));
  const Series again = Series::of(stored);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(figure_of(again.samples()[i].gpus(0), model::GPU_SM_ACTIVE), values[i]) << i;
  Series older({"GPU-a"});
  older.add(at(100, 10, 50, 80), 100);
  EXPECT_EQ(older.stored().gpus(0).parts_size(), 0);
}

TEST(Series, MergedFiguresAreMeansOfThoseThatWereMeasured) {
  Series series({"GPU-a"});
  for (int64_t i = 0; i < 20000; ++i)
    series.add(with_figure(1000 + i, i % 4 == 0   ? std::optional<uint64_t>(900)
                                     : i % 4 == 1 ? std::optional<uint64_t>(100)
                                                  : std::nullopt),
               static_cast<double>(i));
  for (const Sample& sample : series.samples())
    EXPECT_EQ(figure_of(sample.gpus(0), model::GPU_SM_ACTIVE), 500u);
}

TEST(Series, CoresAreThoseBetweenTheLastTwoSamples) {
  Series series;
  series.add(at(100, 1000, 50), 100.5);
  EXPECT_EQ(series.cores(), 0);
  series.add(at(110, 21000, 50), 110.5);
  EXPECT_DOUBLE_EQ(series.cores(), 2);
}

TEST(Series, TotalsNeverFall) {
  Series series;
  series.add(at(100, 5000, 50), 100);
  series.add(at(110, 1000, 50), 110);
  EXPECT_EQ(series.samples().back().cpu_milliseconds(), 5000u);
  EXPECT_EQ(series.cores(), 0);
}

TEST(Series, AStepHasWhatWasMeasuredWhileItRan) {
  Series series({"GPU-a", "GPU-b"});
  for (int64_t time : {100, 110, 120, 130}) {
    Sample sample = at(time, 0, static_cast<uint64_t>(time), time <= 110 ? 0 : 60);
    *sample.add_gpus() = sample.gpus(0);
    sample.mutable_gpus(1)->set_utilization(40);
    series.add(std::move(sample), static_cast<double>(time));
  }
  model::Usage usage;
  series.summarize(110, 130, {"GPU-a"}, usage);
  EXPECT_EQ(usage.gpus().count(), 1u);
  EXPECT_DOUBLE_EQ(usage.gpus().utilization(), 60);
  EXPECT_EQ(usage.gpus().most_memory_bytes(), 1000u << 20);
  EXPECT_DOUBLE_EQ(usage.gpus().watts(), 300);
  EXPECT_EQ(usage.energy_joules(), 2000u);
  EXPECT_EQ(usage.peak_memory_kib(), 130u);
  model::Usage whole;
  series.summarize(0, 1000, series.gpus(), whole);
  EXPECT_DOUBLE_EQ(whole.gpus().utilization(), 70);
  model::Usage nothing;
  series.summarize(131, 200, series.gpus(), nothing);
  EXPECT_FALSE(nothing.has_gpus());
}

}  // namespace
}  // namespace minke::engine
