#include "view/top_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "api/measurements.pb.h"
#include "model/job_record.pb.h"
#include "model/measurement.pb.h"
#include "text/number.h"
#include "view/colour.h"
#include "view/test_records.h"

namespace minke::view {
namespace {

using test::at;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class TopScreen : public testing::Test {
 protected:
  TopScreen() {
    test::use_utc();
    set_colour(ColourWish::kNever);
    reply_.set_now(at(2, 0, 0));
    api::MachineMeasurement& machine = *reply_.mutable_machine();
    machine.set_cores(9.6);
    machine.set_cpus(64);
    machine.set_memory_kib(71ull << 20);
    machine.set_total_memory_kib(503ull << 20);
    model::Sample::Gpu& gpu = *machine.add_gpus();
    gpu.set_utilization(93);
    gpu.set_memory_mib(61 << 10);
    gpu.set_milliwatts(642000);
    model::GpuDevice& device = *machine.add_gpu_devices();
    device.set_type("h100");
    device.set_memory_mib(80 << 10);
    add_job(4711, "train", 7.9, 93, 41 << 20);
    add_job(4715, "sort", 1.0, 0, 812 << 10);
  }
  ~TopScreen() override { set_colour(ColourWish::kAuto); }

  void add_job(uint32_t id, const std::string& name, double cores, uint32_t gpu, uint64_t kib) {
    api::JobMeasurement& measured = *reply_.add_jobs();
    *measured.mutable_job() = test::on_node(test::job(id, name, model::JOB_RUNNING), "n1", at(1, 0, 0));
    measured.mutable_job()->set_end_time(at(2, 0, 0) + 600 + id);
    measured.mutable_job()->set_memory_mib(64 << 10);
    measured.set_cores(cores);
    measured.mutable_now()->set_memory_kib(kib);
    if (gpu > 0) measured.mutable_now()->add_gpus()->set_utilization(gpu);
  }

  std::vector<std::string> lines(const TopView& how) {
    std::vector<const model::JobRecord*> waiting;
    for (const model::JobRecord& job : waiting_) waiting.push_back(&job);
    const std::string text = top_screen(reply_, waiting, how);
    std::vector<std::string> out;
    for (const std::string_view line : text::split(text, '\n')) out.emplace_back(line);
    return out;
  }

  api::MeasurementsReply reply_;
  std::vector<model::JobRecord> waiting_;
};

TEST_F(TopScreen, GpusComeFirstAndEachJobTellsTheTimeThatIsLeft) {
  const auto shown = lines({.columns = 80});
  EXPECT_THAT(shown[0], HasSubstr("GPU 0 h100     [|||||||||||"));
  EXPECT_THAT(shown[0], HasSubstr("93% busy  61G of 80G  642 W"));
  EXPECT_THAT(shown[1], HasSubstr("9.6 of 64 cores busy"));
  EXPECT_THAT(shown[2], HasSubstr("memory 71G of 503G"));
  EXPECT_EQ(shown[4], "2 jobs running");
  EXPECT_THAT(shown[6], MatchesRegex("4711 +root +train +01:28:31 .*93%.* 7.9/1 +41G/64G"));
  for (const std::string& line : shown) EXPECT_LE(line.size(), 80u) << line;
}

TEST_F(TopScreen, AWideTerminalShowsThePartsOfAGpusCyclesThatWereMeasured) {
  EXPECT_THAT(lines({.columns = 200})[0], Not(HasSubstr("SM")));
  const std::map<model::GpuPart, uint64_t> figures = {
      {model::GPU_SM_ACTIVE, 623}, {model::GPU_TENSOR, 0}, {model::GPU_FP32, 70}};
  for (const auto& [part, value] : figures) {
    model::GpuFigure& figure = *reply_.mutable_machine()->mutable_gpus(0)->add_figures();
    figure.set_part(part);
    figure.set_value(value);
  }
  const auto shown = lines({.columns = 200});
  EXPECT_THAT(shown[0], HasSubstr(" MHz  SM 62%  tensor 0%"));
  EXPECT_THAT(shown[0], Not(HasSubstr("DRAM")));
}

TEST_F(TopScreen, AWideTerminalShowsMore) {
  const auto shown = lines({.columns = 200});
  EXPECT_THAT(shown[5], HasSubstr("READ/S"));
  EXPECT_THAT(lines({.columns = 80})[5], Not(HasSubstr("READ/S")));
  EXPECT_THAT(shown[0], HasSubstr("MHz"));
}

TEST_F(TopScreen, TheOrderIsWhatTheUserChose) {
  EXPECT_THAT(lines({.order = TopOrder::kCores})[6], HasSubstr("train"));
  EXPECT_THAT(lines({.order = TopOrder::kTimeLeft})[6], HasSubstr("train"));
  reply_.mutable_jobs(0)->mutable_job()->set_end_time(0);
  EXPECT_THAT(lines({.order = TopOrder::kTimeLeft})[6], HasSubstr("sort"));
  EXPECT_THAT(lines({.order = TopOrder::kTimeLeft})[7], HasSubstr("no limit"));
}

TEST_F(TopScreen, WaitingJobsAndKeys) {
  for (uint32_t i = 0; i < 7; ++i)
    waiting_.push_back(test::job(5000 + i, "later", model::JOB_PENDING, model::WAIT_PRIORITY));
  const auto shown = lines({.rows = 30, .columns = 80, .shows_keys = true});
  EXPECT_EQ(shown.size(), 30u);
  EXPECT_THAT(shown.back(), HasSubstr("q quit"));
  EXPECT_THAT(shown[9], HasSubstr("7 jobs waiting"));
  EXPECT_THAT(shown[10], HasSubstr("(Priority)"));
  EXPECT_THAT(shown[15], HasSubstr("and 2 more"));
  const auto low = lines({.rows = 8, .columns = 80, .shows_keys = true});
  EXPECT_EQ(low.size(), 8u);
  EXPECT_THAT(low.back(), HasSubstr("q quit"));
}

TEST_F(TopScreen, NamesDoNotControlTheTerminal) {
  reply_.mutable_jobs(0)->mutable_job()->mutable_spec()->set_name("\x1b[2J");
  for (const std::string& line : lines({.columns = 80})) EXPECT_EQ(line.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace minke::view
