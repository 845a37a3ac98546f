#include "node/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "model/measurement.pb.h"
#include "node/gpus.pb.h"
#include "node/launcher_harness.h"

namespace minke::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(GpuType, IsSlurmsShortNameOfTheProduct) {
  EXPECT_EQ(gpu_type_of("NVIDIA H100 80GB HBM3"), "h100");
  EXPECT_EQ(gpu_type_of("NVIDIA A100-SXM4-40GB"), "a100");
  EXPECT_EQ(gpu_type_of("Tesla V100-PCIE-16GB"), "v100");
  EXPECT_EQ(gpu_type_of("NVIDIA L40S"), "l40s");
  EXPECT_EQ(gpu_type_of("NVIDIA GH200 480GB"), "gh200");
  EXPECT_EQ(gpu_type_of("NVIDIA GeForce RTX 4090"), "rtx_4090");
  EXPECT_EQ(gpu_type_of("NVIDIA RTX A6000"), "rtx_a6000");
  EXPECT_EQ(gpu_type_of("Quadro"), "gpu");
  EXPECT_EQ(gpu_type_of("NVIDIA H100 80GB HBM3 MIG 3g.40gb"), "nvidia_h100_80gb_hbm3_3g.40gb");
}

// The library that the tests build (tests/fake_nvml.c), with GPUs as each test describes them.
class NvmlTest : public testing::Test {
 protected:
  NvmlTest() {
    options.library = directory / "libnvidia-ml.so.1";
    options.capabilities = directory / "capabilities";
    build_library("");
  }
  void build_library(const std::string& flags) const {
    const std::string command = "cc -shared -fPIC " + flags + " -o '" + options.library +
                                "' '" MINKE_SOURCE_DIR "/tests/fake_nvml.c'";
    if (std::system(command.c_str()) != 0) ADD_FAILURE() << command;
  }
  void describe(const std::string& gpus) { write_whole(options.library + ".gpus", gpus); }
  GpuReport discover() {
    auto opened = Nvml::open(options);
    if (!opened) {
      ADD_FAILURE() << opened.error().message;
      return {};
    }
    nvml = std::move(*opened);
    return nvml->discover();
  }

  TemporaryDirectory directory;
  GpuOptions options;
  std::unique_ptr<Nvml> nvml;
};

TEST_F(NvmlTest, WithoutALibraryThereIsNoDriver) {
  options.library = directory / "no-such.so";
  const auto opened = Nvml::open(options);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ENOENT);
}

TEST_F(NvmlTest, WhatIsNoLibraryIsSaid) {
  write_whole(options.library, "not a library");
  const auto opened = Nvml::open(options);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().code, ENOENT);
}

TEST_F(NvmlTest, WholeGpus) {
  describe(
      "0 0 GPU-aaa 81559 NVIDIA H100 80GB HBM3\n"
      "1 3 GPU-bbb 81559 NVIDIA H100 80GB HBM3\n"
      "use 1 87 40000 350000 123456789 1980\n");
  const GpuReport report = discover();
  ASSERT_EQ(report.readings_size(), 2);
  const GpuReading& second = report.readings(1);
  EXPECT_EQ(second.device().number(), 1u);
  EXPECT_EQ(second.device().type(), "h100");
  EXPECT_EQ(second.device().uuid(), "GPU-bbb");
  EXPECT_EQ(second.device().memory_mib(), 81559u);
  EXPECT_THAT(second.device().files(), ElementsAre("/dev/nvidia3"));
  EXPECT_FALSE(second.device().has_instance());
  EXPECT_EQ(second.now().utilization(), 87u);
  EXPECT_EQ(second.now().memory_mib(), 40000u);
  EXPECT_EQ(second.now().milliwatts(), 350000u);
  EXPECT_EQ(second.now().clock_mhz(), 1980u);
  EXPECT_EQ(second.energy_millijoules(), 123456789u);
}

TEST_F(NvmlTest, PartsStandInThePlaceOfTheirGpu) {
  std::filesystem::create_directories(directory / "capabilities/gpu2/mig/gi1/ci0");
  write_whole(directory / "capabilities/gpu2/mig/gi1/access", "DeviceFileMinor: 30\nDeviceFileMode: 292\n");
  write_whole(directory / "capabilities/gpu2/mig/gi1/ci0/access", "DeviceFileMinor: 31\n");
  describe(
      "0 2 GPU-aaa 81559 NVIDIA H100 80GB HBM3\n"
      "1 1 GPU-bbb 81559 NVIDIA H100 80GB HBM3\n"
      "mig 0 1 0 MIG-one 40448 NVIDIA H100 80GB HBM3 MIG 3g.40gb\n"
      "mig 0 5 0 MIG-two 9984 NVIDIA H100 80GB HBM3 MIG 1g.10gb\n");
  const GpuReport report = discover();
  ASSERT_EQ(report.readings_size(), 3);
  EXPECT_EQ(report.readings(0).device().type(), "nvidia_h100_80gb_hbm3_3g.40gb");
  EXPECT_EQ(report.readings(0).device().uuid(), "MIG-one");
  EXPECT_EQ(report.readings(0).device().instance(), 0u);
  EXPECT_THAT(report.readings(0).device().files(),
              ElementsAre("/dev/nvidia2", "/dev/nvidia-caps/nvidia-cap30", "/dev/nvidia-caps/nvidia-cap31"));
  EXPECT_EQ(report.readings(1).device().instance(), 1u);
  EXPECT_EQ(report.readings(2).device().uuid(), "GPU-bbb");
  EXPECT_EQ(report.readings(2).device().number(), 1u);
}

TEST_F(NvmlTest, ALostGpuKeepsItsNumber) {
  describe(
      "0 0 GPU-aaa 81559 NVIDIA H100 80GB HBM3\n"
      "1 1 GPU-bbb 81559 NVIDIA H100 80GB HBM3\n"
      "lost 0\n");
  const GpuReport report = discover();
  ASSERT_EQ(report.readings_size(), 2);
  EXPECT_EQ(report.readings(0).problem(), "GPU is lost");
  EXPECT_EQ(report.readings(1).device().number(), 1u);
  EXPECT_EQ(report.readings(1).problem(), "");
}

TEST_F(NvmlTest, AGpuThatDisappearsIsSaid) {
  describe("0 0 GPU-aaa 81559 NVIDIA H100 80GB HBM3\n");
  discover();
  describe("0 0 GPU-aaa 81559 NVIDIA H100 80GB HBM3\nlost 0\n");
  const GpuReport report = nvml->read(GpuQuestion());
  ASSERT_EQ(report.readings_size(), 1);
  EXPECT_EQ(report.readings(0).uuid(), "GPU-aaa");
  EXPECT_EQ(report.readings(0).problem(), "GPU is lost");
}

TEST_F(NvmlTest, ADriverThatCannotBeUsedIsSaid) {
  describe("init 18\n");
  const auto opened = Nvml::open(options);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("Driver/library version mismatch"));
}

// GPUs that jobs use; each read is ten seconds after the last one.
class NvmlPartsTest : public NvmlTest {
 protected:
  using Figures = std::map<model::GpuPart, uint64_t>;

  void use(const std::vector<std::string>& uuids) {
    question.Clear();
    for (const std::string& uuid : uuids) question.add_used(uuid);
  }
  std::vector<Figures> read(std::chrono::milliseconds later = std::chrono::seconds(10)) {
    std::vector<Figures> all;
    const GpuReport report = nvml->read(question, now += later);
    for (const GpuReading& reading : report.readings()) {
      Figures& figures = all.emplace_back();
      for (const model::GpuFigure& figure : reading.now().figures()) figures[figure.part()] = figure.value();
    }
    return all;
  }
  std::string sampled() const { return read_whole(options.library + ".sampled"); }

  const std::string h100 = "0 0 GPU-aaa 81559 NVIDIA H100 80GB HBM3\n";
  GpuQuestion question;
  std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now();
};

TEST_F(NvmlPartsTest, AreWhatHasBeenSinceTheReadBefore) {
  describe(h100 +
           "gpm 0 2=62.34 3=30 5=41 10=30.06 11=0 12=7 13=8 20=100 21=2000.5 60=50 61=60\nnvlink 0 18 0 0\n");
  discover();
  use({"GPU-aaa"});
  EXPECT_THAT(read()[0], IsEmpty());
  const Figures measured = {{model::GPU_SM_ACTIVE, 623},    {model::GPU_SM_OCCUPANCY, 300},
                            {model::GPU_TENSOR, 410},       {model::GPU_FP64, 0},
                            {model::GPU_FP32, 70},          {model::GPU_FP16, 80},
                            {model::GPU_DRAM, 301},         {model::GPU_PCIE_RECEIVED, 2048512},
                            {model::GPU_PCIE_SENT, 102400}, {model::GPU_NVLINK_RECEIVED, 51200},
                            {model::GPU_NVLINK_SENT, 61440}};
  EXPECT_EQ(read()[0], measured);
  describe(h100 + "gpm 0 2=10\n");
  EXPECT_EQ(read(std::chrono::milliseconds(50))[0], measured);   // too soon for another sample
  EXPECT_EQ(read()[0], (Figures{{model::GPU_SM_ACTIVE, 100}}));  // what it does not tell is no 0
}

TEST_F(NvmlPartsTest, OnlyGpusThatJobsUseAreSampled) {
  write_whole(options.library + ".sampled", "");
  describe(h100 + "1 1 GPU-bbb 81559 NVIDIA H100 80GB HBM3\ngpm 0 2=10\ngpm 1 2=20\n");
  discover();
  read();
  read();
  EXPECT_EQ(sampled(), "");
  use({"GPU-bbb"});
  read();
  EXPECT_EQ(read(), (std::vector<Figures>{{}, {{model::GPU_SM_ACTIVE, 200}}}));
  EXPECT_EQ(sampled(), "1\n1\n");
  question.add_begun("GPU-bbb");  // by another job: its cycles begin here
  EXPECT_THAT(read()[1], IsEmpty());
  use({});
  read();
  EXPECT_EQ(sampled(), "1\n1\n1\n");
  use({"GPU-bbb"});
  EXPECT_THAT(read()[1], IsEmpty());
}

TEST_F(NvmlPartsTest, AnOlderGpuTellsItsLinksAlone) {
  const std::string a100 = "0 0 GPU-aaa 40960 NVIDIA A100-SXM4-40GB\npcie 0 3000 4000\n";
  describe(a100 + "nvlink 0 12 1000 2000\n");
  discover();
  use({"GPU-aaa"});
  const Figures pcie = {{model::GPU_PCIE_RECEIVED, 3000}, {model::GPU_PCIE_SENT, 4000}};
  EXPECT_EQ(read()[0], pcie);
  describe(a100 + "nvlink 0 12 6000 2500\n");
  Figures all = pcie;
  all[model::GPU_NVLINK_RECEIVED] = 500;
  all[model::GPU_NVLINK_SENT] = 50;
  EXPECT_EQ(read()[0], all);
  describe(a100 + "nvlink 0 12 5 5\n");  // the driver counts anew
  EXPECT_EQ(read()[0], pcie);
  describe(a100 + "nvlink 0 0 0 0\n");
  EXPECT_EQ(read()[0], pcie);
}

TEST_F(NvmlPartsTest, AGpuWithoutNvlinkHasNoRateOfIt) {
  describe(h100 + "gpm 0 2=10 60=0 61=0\nnvlink 0 0 0 0\n");
  discover();
  use({"GPU-aaa"});
  read();
  EXPECT_EQ(read()[0], (Figures{{model::GPU_SM_ACTIVE, 100}}));
}

TEST_F(NvmlPartsTest, APartHasThoseOfItsInstance) {
  describe(h100 +
           "gpm 0 2=80 10=20\npcie 0 1 1\n"
           "mig 0 1 0 MIG-one 40448 NVIDIA H100 80GB HBM3 MIG 3g.40gb\n"
           "mig 0 5 0 MIG-two 9984 NVIDIA H100 80GB HBM3 MIG 1g.10gb\n");
  discover();
  use({"MIG-two"});
  read();
  EXPECT_EQ(read(), (std::vector<Figures>{{}, {{model::GPU_SM_ACTIVE, 400}, {model::GPU_DRAM, 100}}}));
}

TEST_F(NvmlPartsTest, NothingIsMeasuredByAnOlderLibrary) {
  build_library("-DOLD_LIBRARY");
  describe(h100 + "gpm 0 2=10\npcie 0 1 1\nuse 0 87 40000 350000 123456789 1980\n");
  discover();
  use({"GPU-aaa"});
  read();
  EXPECT_THAT(read()[0], IsEmpty());
  EXPECT_EQ(nvml->read(question).readings(0).now().utilization(), 87u);
}

TEST_F(NvmlPartsTest, NothingIsMeasuredOfALostGpu) {
  describe(h100 + "gpm 0 2=10\n");
  discover();
  use({"GPU-aaa"});
  read();
  describe(h100 + "gpm 0 2=10\nlost 0\n");
  EXPECT_THAT(read()[0], IsEmpty());
}

}  // namespace
}  // namespace minke::node
