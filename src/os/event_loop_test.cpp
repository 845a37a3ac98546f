#include "os/event_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "os/fd.h"

namespace minke::os {
namespace {

struct NonBlockingPipe {
  NonBlockingPipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
  UniqueFd out, in;
};

// A watch that ended reports nothing more, and none of its events reach a later one, even if the caller still
// has the watched descriptor.
TEST(EventLoop, WhatHappensToADescriptorThatIsNotWatchedAnyMoreIsNobodysNews) {
  EventLoop loop;
  int others = 0;
  std::vector<std::unique_ptr<NonBlockingPipe>> pipes;
  std::vector<std::unique_ptr<EventLoop::Watch>> watches;
  for (int i = 0; i < 50; ++i) {
    NonBlockingPipe& before = *pipes.emplace_back(std::make_unique<NonBlockingPipe>());
    loop.on_readable(before.out.get(), [&] { ++others; });  // ends at once
    NonBlockingPipe& after = *pipes.emplace_back(std::make_unique<NonBlockingPipe>());
    watches.push_back(loop.on_readable(after.out.get(), [&] { ++others; }));
    ASSERT_EQ(::write(before.in.get(), "x", 1), 1);
  }
  auto timer = loop.make_timer([&] { loop.stop(); });
  timer->set_after(std::chrono::milliseconds(50));
  loop.run();
  EXPECT_EQ(others, 0);
}

// Work that queues more work, and takes its time, does not delay deferred work.
TEST(EventLoop, ABurstEndsByTimeToo) {
  EventLoop loop;
  int handled = 0, handled_before = 0;
  std::function<void()> flood = [&] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < until) {
    }
    if (++handled < 1500) loop.post(flood);
  };
  loop.post(flood);
  loop.defer([&] {
    handled_before = handled;
    loop.stop();
  });
  loop.run();
  EXPECT_LE(handled_before, 50);
}

// A process without a descriptor to spare continues, and so do its watches.
TEST(EventLoop, AWatchNeedsNoDescriptorOfItsOwn) {
  EventLoop loop;
  auto timer = loop.make_timer([&] { loop.stop(); });  // the loop has its own descriptors now
  NonBlockingPipe pipe;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};  // 3 are open already
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  ASSERT_LT(::dup(0), 0);
  int told = 0;
  const auto watch = loop.on_readable(pipe.out.get(), [&] {
    char byte;
    ASSERT_EQ(::read(pipe.out.get(), &byte, 1), 1);
    if (++told == 1) {
      EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    }
    if (told == 2) return loop.stop();
    EXPECT_EQ(::write(pipe.in.get(), "y", 1), 1);
  });
  ASSERT_EQ(::write(pipe.in.get(), "x", 1), 1);
  timer->set_after(std::chrono::seconds(60));
  loop.run();
  EXPECT_EQ(told, 2);
}

TEST(EventLoop, AWatchThatEndsWithoutADescriptorSaysNothing) {
  EventLoop loop;
  auto timer = loop.make_timer([&] { loop.stop(); });  // the loop has its own descriptors now
  NonBlockingPipe pipe;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  int told = 0;
  auto watch = loop.on_readable(pipe.out.get(), [&] { ++told; });
  ASSERT_EQ(::write(pipe.in.get(), "x", 1), 1);
  watch.reset();
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  timer->set_after(std::chrono::milliseconds(100));
  loop.run();
  EXPECT_EQ(told, 0);
}

}  // namespace
}  // namespace minke::os
