#include "engine/slurm/node_jobs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "store/testing.h"

namespace minke::engine::slurm {
namespace {

class NodesGroups : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root() + "/sys/fs/cgroup/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string root() const { return directory_.path(); }

  store::testing::TemporaryDirectory directory_;
};

TEST_F(NodesGroups, AreThoseOfVersion2) {
  const std::string job = "system.slice/n1_slurmstepd.scope/job_42/";
  put(job + "cpu.stat", "usage_usec 5000000\nuser_usec 1\n");
  put(job + "memory.stat", "anon 1048576\nfile 9999999\nshmem 1024\n");
  put(job + "cgroup.procs", "");
  put(job + "step_0/user/task_0/cgroup.procs", "");
  put("system.slice/n1_slurmstepd.scope/system/cpu.stat", "usage_usec 7\n");
  put("system.slice/sshd.service/job_43/cpu.stat", "usage_usec 7\n");
  const auto jobs = NodeJobs(root()).read();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].job_id, 42u);
  EXPECT_FALSE(jobs[0].uid.has_value());
  EXPECT_EQ(jobs[0].use.cpu_milliseconds, 5000u);
  EXPECT_EQ(jobs[0].use.memory_kib, 1025u);
}

TEST_F(NodesGroups, AreThoseOfVersion1WithTheirUsers) {
  put("memory/slurm/uid_2001/job_7/memory.stat", "total_rss 2048\ntotal_shmem 1024\n");
  put("memory/slurm/uid_2001/job_7/cgroup.procs", "");
  put("memory/slurm/uid_2002/job_8/memory.stat", "total_rss 4096\n");
  put("memory/user/uid_9/job_9/memory.stat", "total_rss 4096\n");
  const auto jobs = NodeJobs(root()).read();
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].job_id, 7u);
  EXPECT_EQ(jobs[0].uid, 2001u);
  EXPECT_EQ(jobs[0].use.memory_kib, 3u);
  EXPECT_EQ(jobs[1].uid, 2002u);
}

TEST(NodesProcesses, AreOfTheJobThatTheirSlurmstepdNames) {
  EXPECT_EQ(job_of_stepd("slurmstepd: [123.batch]"), 123u);
  EXPECT_EQ(job_of_stepd("slurmstepd: [123.0]"), 123u);
  EXPECT_FALSE(job_of_stepd("slurmstepd: [123.extern]"));
  for (const char* title : {"slurmstepd", "slurmstepd: [", "slurmstepd: [x.0]", "slurmstepd: [1]",
                            "slurmstepd: [0.0]", "slurmstepd: [99999999999.0]", "a slurmstepd: [1.0]"})
    EXPECT_FALSE(job_of_stepd(title)) << title;
}

TEST(NodesProcesses, NameTheirGpus) {
  EXPECT_EQ(gpu_numbers("0,2-3"), (std::vector<uint32_t>{0, 2, 3}));
  EXPECT_TRUE(gpu_numbers("").empty());
  EXPECT_TRUE(gpu_numbers("none").empty());
  EXPECT_LE(gpu_numbers("0-4000000000").size(), 64u);
}

}  // namespace
}  // namespace minke::engine::slurm
