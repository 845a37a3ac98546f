// Alarms: one per job, the earliest first, none left over.
#include "engine/embedded/state/alarms.h"

#include <gtest/gtest.h>

namespace minke::engine {
namespace {

TEST(Alarms, FireInOrderOfTimeAndOnlyWhatIsDue) {
  os::EventLoop loop;
  int64_t now = 100;
  std::vector<uint32_t> fired;
  Alarms alarms(
      loop, [&] { return now; },
      [&](uint32_t job) {
        fired.push_back(job);
        if (fired.size() == 2) loop.stop();
      });
  alarms.set(1, 100);
  alarms.set(2, 99);
  alarms.set(3, 5000);
  loop.run();
  EXPECT_EQ(fired, (std::vector<uint32_t>{2, 1}));
  EXPECT_EQ(alarms.size(), 1u);
}

TEST(Alarms, AJobHasOneAndItCanBeTakenBack) {
  os::EventLoop loop;
  int64_t now = 100;
  std::vector<uint32_t> fired;
  Alarms alarms(
      loop, [&] { return now; },
      [&](uint32_t job) {
        fired.push_back(job);
        loop.stop();
      });
  alarms.set(1, 90);
  alarms.set(1, 4000);
  alarms.set(2, 90);
  alarms.cancel(2);
  alarms.set(3, 95);
  loop.run();
  EXPECT_EQ(fired, (std::vector<uint32_t>{3}));
  alarms.cancel(1);
  EXPECT_EQ(alarms.size(), 0u);
}

TEST(Alarms, AHandlerMaySetTheNext) {
  os::EventLoop loop;
  int64_t now = 100;
  int count = 0;
  Alarms* self = nullptr;
  Alarms alarms(
      loop, [&] { return now; },
      [&](uint32_t job) {
        if (++count == 3) return loop.stop();
        self->set(job, now);
      });
  self = &alarms;
  alarms.set(1, 100);
  loop.run();
  EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace minke::engine
