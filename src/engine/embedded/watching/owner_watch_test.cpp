// The end of a watched process is reported once, for that process only, and not after the watch is gone.
#include "engine/embedded/watching/owner_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "engine/embedded/accounts/users.h"

namespace minke::engine {
namespace {

// A process that lives until it is killed.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ != 0) return;
    for (;;) ::pause();
  }
  ~Child() { end(); }
  Owner owner() const { return owner_of_process(pid_); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_;
};

class OwnerWatchTest : public testing::Test {
 protected:
  std::unique_ptr<OwnerWatch> watch(const Owner& owner) {
    return std::make_unique<OwnerWatch>(loop_, owner, [this] {
      ++told_;
      loop_.stop();
    });
  }
  void look_once() {  // what is at hand, and no more
    loop_.post([this] { loop_.post([this] { loop_.stop(); }); });
    loop_.run();
  }

  os::EventLoop loop_;
  int told_ = 0;
};

TEST_F(OwnerWatchTest, ItsEndIsToldOnce) {
  Child child;
  const auto watching = watch(child.owner());
  EXPECT_EQ(told_, 0);
  child.end();
  loop_.run();
  EXPECT_EQ(told_, 1);
  look_once();
  EXPECT_EQ(told_, 1);
}

TEST_F(OwnerWatchTest, OneThatHasEndedIsToldOfLater) {
  Child child;
  const Owner owner = child.owner();
  child.end();
  const auto watching = watch(owner);
  EXPECT_EQ(told_, 0);  // not inside the constructor
  loop_.run();
  EXPECT_EQ(told_, 1);
}

TEST_F(OwnerWatchTest, AnotherProcessOfThatNumberIsNotTheOwner) {
  const Child child;
  Owner owner = child.owner();
  owner.start_ticks -= 1;
  const auto watching = watch(owner);
  loop_.run();
  EXPECT_EQ(told_, 1);
}

TEST_F(OwnerWatchTest, NobodyIsToldAfterTheWatchIsGone) {
  Child child, ended;
  const Owner owner = ended.owner();
  ended.end();
  auto of_living = watch(child.owner()), of_dead = watch(owner);
  of_living.reset();
  of_dead.reset();
  child.end();
  look_once();
  EXPECT_EQ(told_, 0);
}

TEST_F(OwnerWatchTest, TheWatchMayBeDestroyedWhenItTells) {
  Child child;
  std::unique_ptr<OwnerWatch> watching;
  watching = std::make_unique<OwnerWatch>(loop_, child.owner(), [&] {
    watching.reset();
    loop_.stop();
  });
  child.end();
  loop_.run();
  EXPECT_EQ(watching, nullptr);
}

}  // namespace
}  // namespace minke::engine
