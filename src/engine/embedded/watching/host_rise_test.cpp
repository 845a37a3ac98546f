#include "engine/embedded/watching/host_rise.h"

#include <gtest/gtest.h>

#include "engine/embedded/watching/series.h"
#include "model/measurement.pb.h"

namespace minke::engine {
namespace {

node::MachineUse machine(uint64_t received, uint64_t sent, uint64_t first, uint64_t second) {
  node::MachineUse use;
  use.received_bytes = received << 10;
  use.sent_bytes = sent << 10;
  use.processor_milliseconds = {{0, first}, {5, second}};
  return use;
}

node::JobUse bound_to(std::set<uint32_t> processors) {
  node::JobUse use;
  use.processors = std::move(processors);
  return use;
}

// What the samples of a job tell that is measured between these readings.
Series measured(const std::vector<node::MachineUse>& readings, const node::JobUse& use, size_t held) {
  Series series;
  for (size_t i = 1; i < readings.size(); ++i) {
    model::Sample sample;
    sample.set_time(static_cast<int64_t>(i));
    add_host(rise_between(readings[i - 1], readings[i]), use, held, series, sample);
    series.add(std::move(sample), static_cast<double>(i));
  }
  return series;
}

TEST(HostRise, TotalsBeginWithTheFirstSample) {
  const Series series =
      measured({machine(100, 10, 1000, 0), machine(200, 20, 3000, 0), machine(250, 25, 3500, 400)},
               bound_to({0, 5}), 2);
  ASSERT_EQ(series.samples().size(), 2u);
  EXPECT_EQ(series.processors(), (std::vector<uint32_t>{0, 5}));
  EXPECT_EQ(series.samples()[0].received_kib(), 0u);
  EXPECT_EQ(series.samples()[1].received_kib(), 50u);
  EXPECT_EQ(series.samples()[1].sent_kib(), 5u);
  EXPECT_EQ(series.samples()[0].processor_milliseconds(0), 0u);
  EXPECT_EQ(series.samples()[1].processor_milliseconds(0), 500u);
  EXPECT_EQ(series.samples()[1].processor_milliseconds(1), 400u);
}

TEST(HostRise, ACounterThatBeginsAnewRisesByNothing) {
  const HostRise found = rise_between(machine(100, 10, 1000, 7), machine(1, 11, 20, 8));
  EXPECT_EQ(found.received_kib, 0u);
  EXPECT_EQ(found.sent_kib, 1u);
  EXPECT_EQ(found.processor_milliseconds.at(0), 0u);
  EXPECT_EQ(found.processor_milliseconds.at(5), 1u);
  EXPECT_EQ(rise_between({}, machine(100, 10, 1000, 7)).received_kib, 0u);
}

TEST(HostRise, WhoIsNotBoundHasNoProcessors) {
  const std::vector<node::MachineUse> readings = {machine(0, 0, 0, 0), machine(0, 0, 5, 5)};
  EXPECT_TRUE(measured(readings, bound_to({0, 5}), 1).processors().empty());
  EXPECT_TRUE(measured(readings, bound_to({}), 1).processors().empty());
}

TEST(HostRise, AProcessorThatComesLaterHasNoTimeBefore) {
  Series series =
      measured({machine(0, 0, 0, 0), machine(0, 0, 5, 5), machine(0, 0, 9, 90)}, bound_to({0}), 2);
  model::Sample sample;
  sample.set_time(3);
  add_host(rise_between(machine(0, 0, 9, 90), machine(0, 0, 10, 100)), bound_to({5}), 2, series, sample);
  series.add(std::move(sample), 3);
  model::Sample last;
  last.set_time(4);
  add_host(rise_between(machine(0, 0, 10, 100), machine(0, 0, 11, 130)), bound_to({0, 5}), 2, series, last);
  series.add(std::move(last), 4);
  const model::Series stored = series.stored();
  ASSERT_EQ(stored.processors_size(), 2);
  EXPECT_EQ(stored.processors(1).id(), 5u);
  EXPECT_EQ(std::vector<int64_t>(stored.processors(1).milliseconds().begin(),
                                 stored.processors(1).milliseconds().end()),
            (std::vector<int64_t>{0, 0, 0, 30}));
  EXPECT_EQ(Series::of(stored).stored().SerializeAsString(), stored.SerializeAsString());
}

}  // namespace
}  // namespace minke::engine
