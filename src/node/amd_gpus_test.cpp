#include "node/amd_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "model/cluster.pb.h"
#include "model/measurement.pb.h"
#include "node/gpus.pb.h"
#include "node/launcher_harness.h"

namespace minke::node {
namespace {

using testing::ElementsAre;
namespace fs = std::filesystem;

// A /sys with two GPUs, whose render nodes are in the other order than their addresses, and one of another
// maker.
class AmdGpusTest : public testing::Test {
 protected:
  void SetUp() override {
    add("renderD129", "0000:03:00.0", "0x1002");
    add("renderD128", "0000:43:00.0", "0x1002");
    add("renderD130", "0000:63:00.0", "0x10de");
    write("0000:03:00.0", "product_name", "AMD Instinct MI300X");
    write("0000:03:00.0", "unique_id", "3f1c0ffee0ddba11");
    write("0000:03:00.0", "mem_info_vram_total", "206141652992");
    write("0000:03:00.0", "local_cpulist", "0-47,96-143");
    write("0000:03:00.0", "mem_info_vram_used", "1073741824");
    write("0000:03:00.0", "gpu_busy_percent", "87");
    write("0000:03:00.0", "hwmon/hwmon3/power1_average", "651000000");
    write("0000:03:00.0", "hwmon/hwmon3/freq1_input", "2100000000");
    write("0000:03:00.0", "hwmon/hwmon3/energy1_input", "5000000");
  }
  void add(const std::string& node, const std::string& address, const std::string& vendor) {
    fs::create_directories(root_ / "sys/devices/" + address);
    fs::create_directories(root_ / "sys/class/drm/" + node);
    fs::create_directory_symlink("../../../devices/" + address, root_ / "sys/class/drm/" + node + "/device");
    write(address, "vendor", vendor);
  }
  void write(const std::string& address, const std::string& file, const std::string& text) {
    const fs::path path = root_ / "sys/devices/" + address + "/" + file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }

  TemporaryDirectory root_;
};

TEST_F(AmdGpusTest, WhatThereIs) {
  EXPECT_TRUE(has_amd_gpus(root_ / "sys"));
  EXPECT_FALSE(has_amd_gpus(root_ / "elsewhere"));
  AmdGpus gpus(root_ / "sys", "/dev");
  const GpuReport report = gpus.discover(2);
  ASSERT_EQ(report.readings_size(), 2);
  const model::GpuDevice& one = report.readings(0).device();
  EXPECT_EQ(one.number(), 2u);
  EXPECT_EQ(one.type(), "mi300x");
  EXPECT_EQ(one.uuid(), "GPU-3f1c0ffee0ddba11");
  EXPECT_EQ(one.bus_id(), "0000:03:00.0");
  EXPECT_EQ(one.memory_mib(), 196592u);
  EXPECT_EQ(one.cpus(), "0-47,96-143");
  EXPECT_THAT(one.files(), ElementsAre("/dev/dri/renderD129"));
  EXPECT_TRUE(is_amd(one));
  const model::GpuDevice& bare = report.readings(1).device();
  EXPECT_EQ(bare.type(), "amd") << "the driver tells no name of a product";
  EXPECT_EQ(bare.uuid(), "GPU-0000:43:00.0");
}

TEST_F(AmdGpusTest, WhatTheyDo) {
  AmdGpus gpus(root_ / "sys", "/dev");
  gpus.discover(0);
  write("0000:03:00.0", "gpu_busy_percent", "12");
  fs::remove(root_ / "sys/devices/0000:43:00.0/vendor");
  const GpuReport report = gpus.read();
  const model::Sample::Gpu& now = report.readings(0).now();
  EXPECT_EQ(now.utilization(), 12u);
  EXPECT_EQ(now.memory_mib(), 1024u);
  EXPECT_EQ(now.milliwatts(), 651000u);
  EXPECT_EQ(now.clock_mhz(), 2100u);
  EXPECT_EQ(report.readings(0).energy_millijoules(), 5000u);
  EXPECT_EQ(report.readings(1).problem(), "GPU is lost");
}

}  // namespace
}  // namespace minke::node
