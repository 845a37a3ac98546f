#include "farming/keeper.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/result.h"

namespace minke::farming {
namespace {

// What two processes see.
template <typename Value>
class Shared {
 public:
  Shared()
      : value_(static_cast<Value*>(
            ::mmap(nullptr, sizeof(Value), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~Shared() { ::munmap(const_cast<Value*>(value_), sizeof(Value)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  volatile Value& operator*() { return *value_; }

 private:
  volatile Value* value_;
};

// A process of a session of its own, whose parent has ended: nothing but its ancestry tells whose it is.
void leave_one_behind(volatile pid_t& pid) {
  const pid_t parent = ::fork();
  if (parent == 0) {
    ::setsid();
    const pid_t child = ::fork();
    if (child == 0) {
      sigset_t all;
      ::sigfillset(&all);
      ::sigprocmask(SIG_BLOCK, &all, nullptr);
      for (;;) ::pause();
    }
    pid = child;
    ::_exit(0);
  }
  while (::waitpid(parent, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool is_gone(pid_t pid) {
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

TEST(Keeper, PassesOnWhatTheWorkerSays) {
  const auto said = run_kept([] { return std::string("0 12 11 3"); });
  ASSERT_TRUE(said);
  EXPECT_EQ(*said, "0 12 11 3");
}

TEST(Keeper, NothingOfAWorkerOutlivesIt) {
  Shared<pid_t> left;
  const auto said = run_kept([&]() -> std::string {
    leave_one_behind(*left);
    ::kill(::getpid(), SIGKILL);
    return "never";
  });
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().message, "the worker was killed by signal 9");
  ASSERT_GT(*left, 0);
  EXPECT_TRUE(is_gone(*left));
}

TEST(Keeper, SignalsGoToTheWorker) {
  const auto said = run_kept([]() -> std::string {
    sigset_t wanted;
    ::sigemptyset(&wanted);
    ::sigaddset(&wanted, SIGTERM);
    ::kill(::getppid(), SIGTERM);
    int signal = 0;
    ::sigwait(&wanted, &signal);
    return std::to_string(signal);
  });
  ASSERT_TRUE(said);
  EXPECT_EQ(*said, std::to_string(SIGTERM));
}

TEST(Keeper, TheWorkerHearsOfItsEnd) {
  Shared<int> heard;
  const pid_t keeper = ::fork();
  if (keeper == 0) {
    const auto unused = run_kept([&]() -> std::string {
      sigset_t wanted;
      ::sigemptyset(&wanted);
      ::sigaddset(&wanted, kKeeperDied);
      ::kill(::getppid(), SIGKILL);
      int signal = 0;
      ::sigwait(&wanted, &signal);
      *heard = signal;
      return "";
    });
    ::_exit(unused ? 0 : 1);
  }
  ASSERT_EQ(::waitpid(keeper, nullptr, 0), keeper);
  for (int turn = 0; turn < 1000 && *heard == 0; ++turn) ::usleep(10'000);
  EXPECT_EQ(*heard, kKeeperDied);
}

}  // namespace
}  // namespace minke::farming
