#include "node/discovery.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "model/cluster.pb.h"
#include "node/launcher_harness.h"

namespace minke::node {
namespace {

class Discovery : public testing::Test {
 protected:
  Discovery() {
    options.proc = root / "proc";
    options.sys = root / "sys";
    options.tmp = root.path();
    put("proc/meminfo",
        "MemTotal:       16777216 kB\nMemFree:         2097152 kB\nMemAvailable: 9999999 kB\n");
    put("proc/loadavg", "1.25 0.50 0.10 2/300 12345\n");
    put("proc/stat", "cpu  1 2 3\nbtime 1700000000\nprocesses 5\n");
  }
  void put(const std::string& path, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(root / path).parent_path());
    write_whole(root / path, content);
  }
  // CPU numbers count cores first, then their second threads, as Linux does.
  void build_cpus(uint32_t sockets, uint32_t cores, uint32_t threads) {
    std::vector<uint32_t> all;
    for (uint32_t cpu = 0; cpu < sockets * cores * threads; ++cpu) {
      uint32_t core = cpu % (sockets * cores);
      std::string directory = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
      put(directory + "physical_package_id", std::to_string(core / cores) + "\n");
      put(directory + "core_id", std::to_string(core % cores) + "\n");
      all.push_back(cpu);
    }
    options.affinity = all;
  }
  std::string shape() {
    model::NodeRecord node = discover_machine(options);
    EXPECT_EQ(node.cpus(), node.sockets() * node.cores_per_socket() * node.threads_per_core());
    return std::to_string(node.cpus()) + "=" + std::to_string(node.sockets()) + "x" +
           std::to_string(node.cores_per_socket()) + "x" + std::to_string(node.threads_per_core());
  }
  void use_groups_v2(const std::string& group) {
    put("proc/self/mountinfo",
        "30 25 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
    put("proc/self/cgroup", "0::" + group + "\n");
  }
  TemporaryDirectory root;
  DiscoveryOptions options;
};

TEST_F(Discovery, TellsTheWholeMachine) {
  build_cpus(2, 8, 2);
  EXPECT_EQ(shape(), "32=2x8x2");
  model::NodeRecord node = discover_machine(options);
  EXPECT_EQ(node.memory_mib(), 16384u);
  EXPECT_EQ(node.free_memory_mib(), 2048u);
  EXPECT_DOUBLE_EQ(node.cpu_load(), 1.25);
  EXPECT_EQ(node.boot_time(), 1'700'000'000);
  EXPECT_EQ(node.boards(), 1u);
  EXPECT_GT(node.tmp_disk_mib(), 0u);
  EXPECT_TRUE(node.os().starts_with("Linux ")) << node.os();
  EXPECT_EQ(node.name(), node.host_name());
  EXPECT_EQ(node.name().find('.'), std::string::npos);
  EXPECT_FALSE(node.architecture().empty());
  put("proc/loadavg", "7.5 0 0 1/1 1\n");
  refresh_load(node, options);
  EXPECT_DOUBLE_EQ(node.cpu_load(), 7.5);
}

TEST_F(Discovery, OffersOnlyWhatTheAffinityLeaves) {
  build_cpus(2, 4, 2);
  options.affinity = {{0, 1, 8, 9}};
  EXPECT_EQ(shape(), "4=1x2x2");
  options.affinity = {{0, 1, 2, 8}};  // one core with both threads, two with one
  EXPECT_EQ(shape(), "4=1x4x1");
  options.affinity = {{5}};
  EXPECT_EQ(shape(), "1=1x1x1");
}

TEST_F(Discovery, CoresWithTheSameNumberOnTwoSocketsAreTwo) {
  build_cpus(2, 1, 1);
  EXPECT_EQ(shape(), "2=2x1x1");
}

TEST_F(Discovery, KeepsToControlGroupsOfVersion2AndThoseAbove) {
  build_cpus(1, 8, 2);
  use_groups_v2("/user.slice/job.scope");
  put("sys/fs/cgroup/user.slice/job.scope/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/user.slice/job.scope/memory.max", "max\n");
  EXPECT_EQ(shape(), "16=1x8x2");
  EXPECT_EQ(discover_machine(options).memory_mib(), 16384u);
  put("sys/fs/cgroup/user.slice/cpu.max", "650000 100000\n");
  put("sys/fs/cgroup/user.slice/memory.max", "4294967296\n");
  EXPECT_EQ(shape(), "6=1x3x2");
  EXPECT_EQ(discover_machine(options).memory_mib(), 4096u);
  put("sys/fs/cgroup/user.slice/job.scope/cpu.max", "50000 100000\n");
  EXPECT_EQ(shape(), "1=1x1x1");
  put("sys/fs/cgroup/user.slice/job.scope/cpu.max", "500000 100000\n");
  put("sys/fs/cgroup/user.slice/job.scope/cpuset.cpus.effective", "0-1,8-9\n");
  EXPECT_EQ(shape(), "4=1x2x2");
}

TEST_F(Discovery, KeepsToControlGroupsOfVersion1) {
  build_cpus(1, 4, 1);
  put("proc/self/mountinfo",
      "31 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "32 30 0:29 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "33 30 0:30 / / rw - ext4 /dev/sda rw\n");
  put("proc/self/cgroup", "3:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n");
  put("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(shape(), "4=1x4x1");
  put("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "200000\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  EXPECT_EQ(shape(), "2=1x2x1");
  EXPECT_EQ(discover_machine(options).memory_mib(), 1024u);
}

TEST_F(Discovery, SurvivesAMachineThatTellsNothing) {
  options.proc = root / "nothing";
  options.sys = root / "nothing";
  options.tmp = root / "nothing";
  options.affinity = std::vector<uint32_t>{};
  EXPECT_EQ(shape(), "1=1x1x1");
  EXPECT_EQ(discover_machine(options).memory_mib(), 0u);
}

TEST(DiscoveryHere, ThisMachineHasSomething) {
  model::NodeRecord node = discover_machine();
  EXPECT_GE(node.cpus(), 1u);
  EXPECT_EQ(node.cpus(), node.sockets() * node.cores_per_socket() * node.threads_per_core());
  EXPECT_GT(node.memory_mib(), 100u);
  EXPECT_GT(node.tmp_disk_mib(), 0u);
  EXPECT_GT(node.boot_time(), 1'600'000'000);
}

}  // namespace
}  // namespace minke::node
