#include "node/job_sampler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "node/launch.pb.h"
#include "node/launcher_harness.h"

namespace minke::node {
namespace {

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

class Sampled : public testing::Test {
 protected:
  const std::string& root() const { return directory_.path(); }
  // A group of version 2, or of version 1.
  JobUse group(uint32_t version, const std::string& memory_stat) {
    write(root() + "/groups/job_1/memory.stat", memory_stat);
    write(root() + "/groups/job_1/cgroup.procs", std::to_string(::getpid()) + "\n");
    Inventory launcher;
    launcher.set_groups_version(version);
    GroupBase& base = *launcher.add_group_bases();
    base.set_controller("memory");
    base.set_directory(root() + "/groups");
    return JobSampler(launcher).read_group("job_1");
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(Sampled, MemoryHasParts) {
  const JobUse two = group(2, "anon 1048576\nfile 4194304\nshmem 1048576\n");
  EXPECT_EQ(two.memory_kib, 2048u);
  EXPECT_EQ(two.shared_kib, 1024u);
  EXPECT_EQ(two.cache_kib, 3072u);
  const JobUse one = group(1, "cache 9\ntotal_cache 4194304\ntotal_rss 1048576\ntotal_shmem 1048576\n");
  EXPECT_EQ(one.memory_kib, 2048u);
  EXPECT_EQ(one.shared_kib, 1024u);
  EXPECT_EQ(one.cache_kib, 3072u);
}

TEST_F(Sampled, ProcessorsAreThoseThatProcessesMayRunOn) {
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const JobUse bound = group(2, "anon 0\n");
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(bound.processors, std::set<uint32_t>{static_cast<uint32_t>(cpu)});
  EXPECT_EQ(group(2, "anon 0\n").processors.size(), static_cast<size_t>(CPU_COUNT(&before)));
}

TEST_F(Sampled, EachProcessorHasItsTime) {
  write(root() + "/proc/stat",
        "cpu  300 0 100 9000 50 0 0 7 0 0\ncpu0 100 0 100 4000 0 0 0 0 0 0\ncpu12 200 0 0 5000 50 0 0 7 0 0\n"
        "intr 5 cpu99\nctxt 1\n");
  const MachineUse use = JobSampler(Inventory(), root()).read_machine();
  const auto tick = static_cast<uint64_t>(1000 / ::sysconf(_SC_CLK_TCK));
  EXPECT_EQ(use.cpu_milliseconds, 400 * tick);
  EXPECT_EQ(use.processor_milliseconds, (std::map<uint32_t, uint64_t>{{0, 200 * tick}, {12, 200 * tick}}));
}

TEST_F(Sampled, NetworkIsThatOfDevices) {
  const std::string lines =
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
      "    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n"
      "  eth0:1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n"
      " veth1: 30 1 0 0 0 0 0 0 50 1 0 0 0 0 0 0\n";
  write(root() + "/proc/net/dev", lines);
  const MachineUse without = JobSampler(Inventory(), root()).read_machine();
  EXPECT_EQ(without.received_bytes, 1030u);  // in a container there is no device
  EXPECT_EQ(without.sent_bytes, 2050u);
  write(root() + "/sys/class/net/eth0/device/vendor", "");
  const MachineUse with = JobSampler(Inventory(), root()).read_machine();
  EXPECT_EQ(with.received_bytes, 1000u);
  EXPECT_EQ(with.sent_bytes, 2000u);
}

}  // namespace
}  // namespace minke::node
