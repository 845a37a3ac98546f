#include "engine/embedded/server/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

namespace minke::engine {
namespace {

class TurnsTest : public testing::Test {
 protected:
  // Work that takes so long, and writes the user's letter.
  void add(uint32_t uid, char letter, int milliseconds) {
    turns_.add(uid, [this, letter, milliseconds] {
      done_ += letter;
      now_ += std::chrono::milliseconds(milliseconds);
    });
  }
  void run() {
    std::function<void()> look = [&] {
      if (++looks_ > 10'000 || done_.size() >= wanted_) return loop_.stop();
      loop_.post(look);
    };
    loop_.post(look);
    loop_.run();
  }

  os::EventLoop loop_;
  std::chrono::nanoseconds now_{0};
  Turns turns_{loop_, [this] { return now_; }};
  std::string done_;
  size_t wanted_ = 0;
  int looks_ = 0;
};

TEST_F(TurnsTest, OneRequestIsNotBehindAllOfAnothers) {
  for (int i = 0; i < 1000; ++i) add(1, 'a', 1);
  add(2, 'b', 1);
  wanted_ = 1001;
  run();
  EXPECT_LE(done_.find('b'), 1u);
  EXPECT_EQ(done_.size(), 1001u);
}

TEST_F(TurnsTest, TimeIsDealtOutAndNotNumbers) {
  for (int i = 0; i < 100; ++i) add(1, 'a', 10);
  for (int i = 0; i < 1000; ++i) add(2, 'b', 1);
  wanted_ = 1100;
  run();
  // While both have something, ten of the one's are done for each of the other's.
  const std::string half = done_.substr(0, 550);
  EXPECT_NEAR(static_cast<double>(std::count(half.begin(), half.end(), 'a')), 50, 3);
}

TEST_F(TurnsTest, WhatOneUserAsksIsDoneInItsOrder) {
  for (char letter = 'a'; letter <= 'z'; ++letter) add(1, letter, 1);
  wanted_ = 26;
  run();
  EXPECT_EQ(done_, "abcdefghijklmnopqrstuvwxyz");
}

TEST_F(TurnsTest, TheLoopHasItsTurnInBetween) {
  for (int i = 0; i < 1000; ++i) add(1, 'a', 1);
  wanted_ = 1000;
  run();
  EXPECT_GE(looks_, 1000 / 5 - 1);  // of events that were handled meanwhile
}

TEST_F(TurnsTest, WhatSomebodyHadLongAgoIsNotHeldAgainstHim) {
  for (int i = 0; i < 100; ++i) add(1, '-', 100);
  turns_.add(1, [this] {
    done_.clear();
    for (int i = 0; i < 1000; ++i) add(2, 'b', 1);
    add(1, 'a', 1);
  });
  wanted_ = 1001;
  run();
  EXPECT_LE(done_.find('a'), 25u);
}

TEST_F(TurnsTest, WorkMayEndThemAll) {
  auto turns = std::make_unique<Turns>(loop_, [this] { return now_; });
  turns->add(1, [&] {
    turns.reset();
    loop_.stop();
  });
  turns->add(1, [&] { done_ += 'x'; });
  loop_.run();
  EXPECT_EQ(done_, "");
}

}  // namespace
}  // namespace minke::engine
