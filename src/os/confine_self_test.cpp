// What a process can still do once it has confined itself. Each case runs in a child, whose exit
// code is the result.
#include "os/confine_self.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

extern char** environ;

namespace minke::os {
namespace {

bool holds_when_confined(const std::function<bool()>& claim) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(confine_self(helper_account()) && claim() ? 0 : 1);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string status_line(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + ":")) return line.substr(line.find_first_not_of(" \t", name.size() + 1));
  }
  return "";
}

TEST(ConfineSelf, LeavesNoCapabilityAndNoWayToGetOne) {
  EXPECT_TRUE(holds_when_confined([] {
    const std::string none = "0000000000000000";
    const bool bounded =
        ::geteuid() != 0 && (::getuid() != helper_account().uid || status_line("CapBnd") == none);
    return bounded && status_line("CapEff") == none && status_line("CapPrm") == none &&
           status_line("CapInh") == none && status_line("NoNewPrivs") == "1" && ::setuid(0) != 0;
  }));
}

TEST(ConfineSelf, RefusesWhatOnlyAttacksNeed) {
  EXPECT_TRUE(holds_when_confined([] {
    const auto refused = [](long result) { return result == -1 && errno == EPERM; };
    return refused(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)) && refused(::unshare(CLONE_NEWUSER)) &&
           refused(::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr)) &&
           refused(::syscall(SYS_bpf, 0, nullptr, 0)) && refused(::syscall(SYS_keyctl, 0, -3, 0)) &&
           refused(::syscall(SYS_io_uring_setup, 1, nullptr)) &&
           refused(::mount("none", "/", "tmpfs", 0, nullptr));
  }));
}

TEST(ConfineSelf, StillHasThreadsAndPrograms) {
  EXPECT_TRUE(holds_when_confined([] {
    bool ran = false;
    std::thread([&] { ran = true; }).join();
    char name[] = "true";
    char* const arguments[] = {name, nullptr};
    pid_t child = 0;
    int status = 1;
    return ran && ::posix_spawn(&child, "/bin/true", nullptr, nullptr, arguments, environ) == 0 &&
           ::waitpid(child, &status, 0) == child && status == 0;
  }));
}

// The situation below the daemon, whose unit leaves root few capabilities.
TEST(ConfineSelf, NeedsNoMoreThanToChangeTheUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has capabilities to begin with";
  const pid_t child = ::fork();
  if (child == 0) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    data[0].effective = data[0].permitted = 1U << CAP_SETUID | 1U << CAP_SETGID;
    const bool few = ::syscall(SYS_capset, &header, data) == 0;
    ::_exit(few && confine_self(helper_account()) && ::getuid() == helper_account().uid &&
                    status_line("CapEff") == "0000000000000000" && status_line("NoNewPrivs") == "1"
                ? 0
                : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ConfineSelf, DoesNotBecomeRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root could stay root";
  const pid_t child = ::fork();
  if (child == 0) ::_exit(confine_self({0, 0}) ? 1 : 0);
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace minke::os
