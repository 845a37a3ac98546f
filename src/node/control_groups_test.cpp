#include "node/control_groups.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "node/launcher_harness.h"

namespace minke::node {
namespace {

// A tree of plain files as the kernel would show it. What a group's directory would have by itself must be
// put there by hand, so limits are looked at on the real one.
void fake_kernel(const TemporaryDirectory& root, const std::string& mounts, const std::string& own) {
  std::filesystem::create_directories(root / "proc/self");
  write_whole(root / "proc/self/mountinfo", mounts);
  write_whole(root / "proc/self/cgroup", own);
}

TEST(ControlGroupsFind, VersionOneBelowItsOwnGroup) {
  TemporaryDirectory root;
  fake_kernel(root,
              "30 1 0:1 / /cg/memory rw - cgroup cgroup rw,memory\n"
              "31 1 0:2 / /cg/pids rw shared:9 - cgroup cgroup rw,pids\n"
              "32 1 0:3 / /cg/unified rw - cgroup2 cgroup2 rw\n",
              "4:memory:/outer/one\n1:pids:/\n0::/\n");
  std::filesystem::create_directories(root / "cg/memory/outer/one");
  std::filesystem::create_directories(root / "cg/pids");
  const auto groups = ControlGroups::find("t", false, root.path());
  ASSERT_TRUE(groups) << groups.error().message;
  EXPECT_EQ(groups->version(), 1);
  EXPECT_EQ(groups->controllers(), (std::vector<std::string>{"memory", "pids"}));
  std::filesystem::create_directories(root / "cg/memory/outer/one/minke+t/a");
  write_whole(root / "cg/memory/outer/one/minke+t/a/memory.oom_control",
              "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  EXPECT_EQ(groups->oom_kills("a"), 3u);
  EXPECT_EQ(groups->groups(), (std::vector<std::string>{"a"}));
}

TEST(ControlGroupsFind, FromWithinAJobAsFromOutside) {
  TemporaryDirectory root;
  fake_kernel(root, "30 1 0:1 / /cg/memory rw - cgroup cgroup rw,memory\n",
              "4:memory:/outer/minke+t/job_1.0/batch.0\n");
  std::filesystem::create_directories(root / "cg/memory/outer/minke+t/seen");
  const auto groups = ControlGroups::find("t", false, root.path());
  ASSERT_TRUE(groups) << groups.error().message;
  EXPECT_EQ(groups->groups(), (std::vector<std::string>{"seen"}));
}

TEST(ControlGroupsFind, AUnitOfOursIsNoGroupOfJobs) {
  TemporaryDirectory root;
  fake_kernel(root, "30 1 0:1 / /cg/memory rw - cgroup cgroup rw,memory\n",
              "4:memory:/system.slice/minke-launcher.service\n");
  std::filesystem::create_directories(root / "cg/memory/system.slice/minke-launcher.service/minke+t/seen");
  const auto groups = ControlGroups::find("t", false, root.path());
  ASSERT_TRUE(groups) << groups.error().message;
  EXPECT_EQ(groups->groups(), (std::vector<std::string>{"seen"}));
}

TEST(ControlGroupsFind, VersionTwo) {
  TemporaryDirectory root;
  fake_kernel(root, "32 1 0:3 / /cg rw - cgroup2 cgroup2 rw\n", "0::/user.slice\n");
  std::filesystem::create_directories(root / "cg/minke+t/a/b");
  write_whole(root / "cg/cgroup.controllers", "cpuset cpu io memory pids\n");
  write_whole(root / "cg/cgroup.subtree_control", "");
  write_whole(root / "cg/minke+t/cgroup.subtree_control", "");
  auto groups = ControlGroups::find("t", false, root.path());
  ASSERT_TRUE(groups) << groups.error().message;
  EXPECT_EQ(groups->version(), 2);
  EXPECT_EQ(groups->controllers(), (std::vector<std::string>{"memory", "pids"}));
  ASSERT_TRUE(groups->prepare());
  EXPECT_EQ(read_whole(root / "cg/minke+t/cgroup.subtree_control"), "+memory +pids");
  write_whole(root / "cg/minke+t/a/memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\n");
  EXPECT_EQ(groups->oom_kills("a"), 2u);
  write_whole(root / "cg/minke+t/a/memory.events.local", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\n");
  EXPECT_EQ(groups->oom_kills("a"), 1u);
  write_whole(root / "cg/minke+t/a/cgroup.procs", "11\n");
  write_whole(root / "cg/minke+t/a/b/cgroup.procs", "0\n12\n");
  EXPECT_EQ(groups->processes("a"), (std::vector<pid_t>{11, 12}));
  write_whole(root / "cg/minke+t/a/cgroup.kill", "");
  groups->kill("a");
  EXPECT_EQ(read_whole(root / "cg/minke+t/a/cgroup.kill"), "1");
}

TEST(ControlGroupsFind, NoneIsSaid) {
  TemporaryDirectory root;
  fake_kernel(root, "1 0 0:1 / / rw - ext4 /dev/vda rw\n", "0::/\n");
  EXPECT_EQ(ControlGroups::find("t", false, root.path()).error().code, ENOTSUP);
}

class ControlGroupsReal : public testing::Test {
 protected:
  void SetUp() override {
    auto found = ControlGroups::find("test-" + std::to_string(::getpid()), true);
    if (!found) GTEST_SKIP() << found.error().message;
    groups_ = std::make_unique<ControlGroups>(std::move(*found));
    Status made = groups_->prepare();
    if (made) made = groups_->create("probe", {});
    if (!made) {
      groups_->remove_all();
      groups_.reset();
      GTEST_SKIP() << made.error().message;
    }
    ASSERT_TRUE(groups_->remove("probe"));
  }
  void TearDown() override {
    if (!groups_) return;
    EXPECT_TRUE(eventually([this] {
      groups_->kill("a");
      return static_cast<bool>(groups_->remove("a"));
    }));
    EXPECT_TRUE(groups_->remove_all());
  }
  // Runs `action` in a process of the group; its wait status.
  template <typename Action>
  int run_in_group(Action action) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (!groups_->enter("a", ::getpid())) ::_exit(99);
      ::_exit(action());
    }
    int status = -1;
    ::waitpid(pid, &status, 0);
    return status;
  }
  std::unique_ptr<ControlGroups> groups_;
};

TEST_F(ControlGroupsReal, MemoryBeyondTheLimitIsKilledAndCounted) {
  constexpr size_t kLimit = size_t{16} << 20;
  ASSERT_TRUE(groups_->create("a", {.memory_bytes = kLimit, .pids = 0, .cpus = ""}));
  const int status = run_in_group([] {
    volatile char* memory = new char[kLimit * 4];
    for (size_t at = 0; at < kLimit * 4; at += 1024) memory[at] = 1;
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_EQ(groups_->oom_kills("a"), 1u);
}

TEST_F(ControlGroupsReal, GroupsBelowShareTheLimit) {
  constexpr size_t kLimit = size_t{16} << 20;
  ASSERT_TRUE(groups_->create("a", {.memory_bytes = kLimit, .pids = 0, .cpus = ""}));
  ASSERT_TRUE(groups_->create("a/b", {}));
  const auto entry = groups_->open("a/b");
  ASSERT_TRUE(entry);
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (const os::UniqueFd& file : entry->files) {
      if (::write(file.get(), "0", 1) != 1) ::_exit(99);
    }
    volatile char* memory = new char[kLimit * 4];
    for (size_t at = 0; at < kLimit * 4; at += 1024) memory[at] = 1;
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_EQ(groups_->oom_kills("a/b"), 1u);
  EXPECT_EQ(groups_->oom_kills("a"), 0u);
  EXPECT_EQ(groups_->groups(), (std::vector<std::string>{"a"}));
}

TEST_F(ControlGroupsReal, NoMoreProcessesThanAllowed) {
  ASSERT_TRUE(groups_->create("a", {.memory_bytes = 0, .pids = 3, .cpus = ""}));
  const int status = run_in_group([] {
    int started = 0;
    for (int i = 0; i < 10; ++i) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        ::pause();
        ::_exit(0);
      }
      if (pid < 0) return errno == EAGAIN ? started : 98;
      ++started;
    }
    return started;
  });
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

TEST_F(ControlGroupsReal, HeldToItsCpus) {
  const std::vector<std::string> offered = groups_->controllers();
  if (std::find(offered.begin(), offered.end(), "cpuset") == offered.end()) GTEST_SKIP() << "no cpuset";
  ASSERT_TRUE(groups_->create("a", {.memory_bytes = 0, .pids = 0, .cpus = "0"}));
  ASSERT_TRUE(groups_->create("a/b", {}));
  const auto entry = groups_->open("a/b");
  ASSERT_TRUE(entry);
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (const os::UniqueFd& file : entry->files) {
      if (::write(file.get(), "0", 1) != 1) ::_exit(99);
    }
    cpu_set_t all, allowed;
    std::memset(&all, 0xff, sizeof all);
    ::sched_setaffinity(0, sizeof all, &all);
    ::_exit(::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 98);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST_F(ControlGroupsReal, NothingEscapesTheKill) {
  ASSERT_TRUE(groups_->create("a", {}));
  // Two sessions deep, its parents gone.
  run_in_group([] {
    for (int i = 0; i < 2; ++i) {
      if (::fork() != 0) return 0;
      ::setsid();
    }
    for (;;) ::pause();
  });
  ASSERT_TRUE(eventually([this] { return groups_->processes("a").size() == 1; }));
  EXPECT_EQ(groups_->remove("a").error().code, EBUSY);
  groups_->kill("a");
  EXPECT_TRUE(eventually([this] { return groups_->processes("a").empty(); }));
}

TEST_F(ControlGroupsReal, ALimitThatTheKernelRefusesLeavesNoGroup) {
  EXPECT_FALSE(groups_->create("a", {.memory_bytes = 0, .pids = UINT64_MAX, .cpus = ""}));
  EXPECT_TRUE(groups_->groups().empty());
}

TEST_F(ControlGroupsReal, NamesStayBelow) {
  EXPECT_EQ(groups_->create("../a", {}).error().code, EINVAL);
  EXPECT_EQ(groups_->create("", {}).error().code, EINVAL);
  EXPECT_EQ(groups_->create("a/../b", {}).error().code, EINVAL);
}

}  // namespace
}  // namespace minke::node
