#include "sched/device_set.h"

#include <gtest/gtest.h>

#include <vector>

#include "sched/test_cluster.h"

namespace minke::sched {
namespace {

std::vector<std::uint32_t> numbers(const DeviceSet& devices) {
  std::vector<std::uint32_t> found;
  each_device(devices, [&](std::uint32_t device) { found.push_back(device); });
  return found;
}

TEST(DeviceSet, RangesEndWhereTheSetDoes) {
  EXPECT_EQ(numbers(device_range(62, 4)), (std::vector<std::uint32_t>{62, 63, 64, 65}));
  EXPECT_TRUE(device_range(3, 0).none());
  EXPECT_TRUE(device_range(kMostDevices, 1).none());
  EXPECT_EQ(numbers(device_range(kMostDevices - 2, 5)),
            (std::vector<std::uint32_t>{kMostDevices - 2, kMostDevices - 1}));
  EXPECT_EQ(device_range(0, kMostDevices).count(), kMostDevices);
}

TEST(DeviceSet, TheLowestComeFirst) {
  const DeviceSet some = device_range(60, 10);
  EXPECT_EQ(lowest_devices(some, 7), device_range(60, 7));
  EXPECT_EQ(lowest_devices(some, 99), some);
  EXPECT_TRUE(lowest_devices(some, 0).none());
}

TEST(DeviceSet, ANodeWithMoreDevicesThanAWordHasBits) {
  Machine machine =
      testing::uniform_machine(1, 256, 0, {testing::make_gres("a", 100), testing::make_gres("b", 28)});
  Request request;
  request.gres.push_back({*machine.layout().find_gres_name("gpu"), kAnyKind, 90, 0, 0});
  const auto first = machine.place(request);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->nodes.front().gres.front().devices, device_range(0, 90));
  const auto stored = to_model(machine.layout(), *first);
  EXPECT_EQ(*from_model(machine.layout(), stored), *first);
  machine.allocate(*first);
  EXPECT_FALSE(machine.place(request));
  request.gres.front().per_node = 38;
  const auto rest = machine.place(request);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->nodes.front().gres.front().devices, device_range(90, 10));
  EXPECT_EQ(rest->nodes.front().gres.back().devices, device_range(100, 28));
  machine.allocate(*rest);
  machine.withhold(0, *machine.layout().gpu_name(), device_range(70, 2));
  machine.release(*first);
  EXPECT_EQ(machine.free_device_count(0), 88);
}

}  // namespace
}  // namespace minke::sched
