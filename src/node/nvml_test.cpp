#include "node/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "node/gpus.pb.h"
#include "node/launcher_harness.h"

namespace minke::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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
    const std::string command =
        "cc -shared -fPIC -o '" + options.library + "' '" MINKE_SOURCE_DIR "/tests/fake_nvml.c'";
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
  const GpuReport report = nvml->read();
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

}  // namespace
}  // namespace minke::node
