#include "os/user_child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>

#include "os/beneath.h"
#include "os/process.h"

namespace minke::os {
namespace {

using std::chrono::steady_clock;

TEST(UserChild, SaysWhatItFound) {
  const auto done =
      run_in_child(std::nullopt, {}, [](int answer) { return ::write(answer, "found", 5) == 5 ? 3 : 4; });
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exit_code, 3);
  EXPECT_EQ(done->said, "found");
}

TEST(UserChild, OneThatIsStoppedIsKilled) {
  const auto begin = steady_clock::now();
  const auto done = run_in_child(std::nullopt, {.time = std::chrono::minutes(10)}, [](int) {
    ::raise(SIGSTOP);
    return 0;
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ETIMEDOUT);
  EXPECT_LT(steady_clock::now() - begin, std::chrono::minutes(1));
}

TEST(UserChild, OneThatStopsAfterItHasAnsweredIsKilled) {
  const auto done = run_in_child(std::nullopt, {.time = std::chrono::minutes(10)}, [](int answer) {
    ::close(answer);
    ::raise(SIGSTOP);
    return 0;
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ETIMEDOUT);
}

TEST(UserChild, WaitsNoLongerThanItMay) {
  const auto done = run_in_child(std::nullopt, {.time = std::chrono::milliseconds(50)}, [](int) {
    for (;;) ::pause();
    return 0;
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ETIMEDOUT);
}

TEST(UserChild, WhatItSaysIsBounded) {
  const auto done = run_in_child(std::nullopt, {.bytes = 1000}, [](int answer) {
    const std::string much(100'000, 'x');
    while (::write(answer, much.data(), much.size()) > 0) {
    }
    return 0;
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, EMSGSIZE);
}

TEST(UserChild, IsKilledWhenItMayNotGoOn) {
  const auto done = run_in_child(
      std::nullopt, {.time = std::chrono::minutes(10), .goes_on = [] { return false; }}, [](int) {
        for (;;) ::pause();
        return 0;
      });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ECANCELED);
}

TEST(UserChild, HasTheUsersRightsAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "root is needed";
  const auto done = run_in_child(Rights{65534, 65534, {}}, {}, [](int) {
    return ::getuid() == 65534 && ::geteuid() == 65534 && ::getgid() == 65534 &&
                   ::getgroups(0, nullptr) == 0 && ::setuid(0) != 0
               ? 0
               : 1;
  });
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exit_code, 0);
}

TEST(Process, IsKnownByItsStart) {
  const auto self = process_of(::getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(self->uid, ::geteuid());
  EXPECT_GT(self->start_ticks, 0u);
  EXPECT_FALSE(process_of(0));
}

class Beneath : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/minke-beneath-XXXXXX";
    directory_ = ::mkdtemp(name);
    top_.reset(::open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::mkdirat(top_.get(), "a", 0700), 0);
    ASSERT_EQ(::mkdirat(top_.get(), "a/b", 0700), 0);
    ASSERT_EQ(::symlinkat("a", top_.get(), "link"), 0);
    ASSERT_EQ(::symlinkat("/etc", top_.get(), "out"), 0);
  }
  void TearDown() override { (void)!::system(("rm -rf " + directory_).c_str()); }

  std::string directory_;
  UniqueFd top_;
};

TEST_F(Beneath, LeadsDownwardsAlone) {
  EXPECT_TRUE(open_beneath(top_.get(), "a/b", O_RDONLY | O_DIRECTORY));
  for (const char* path : {"link", "link/b", "out", "out/passwd", "../", "a/../../tmp", "/etc", "a/none"})
    EXPECT_FALSE(open_beneath(top_.get(), path, O_RDONLY)) << path;
}

TEST_F(Beneath, RootsDirectoriesAreRootsAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "root is needed";
  const auto opened = open_beneath(top_.get(), "a", O_RDONLY | O_DIRECTORY);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(check_roots_directory(opened->get(), "a"));
  ASSERT_EQ(::fchmod(opened->get(), 0720), 0);
  EXPECT_FALSE(check_roots_directory(opened->get(), "a"));
  ASSERT_EQ(::fchmod(opened->get(), 0700), 0);
  ASSERT_EQ(::fchown(opened->get(), 65534, 65534), 0);
  EXPECT_FALSE(check_roots_directory(opened->get(), "a"));
}

}  // namespace
}  // namespace minke::os
