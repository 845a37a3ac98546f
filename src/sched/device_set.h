// DeviceSet: devices of one GRES name on one node, a bit each. A plain value. Any thread.
//
// Its size is fixed, for each of a machine's copies holds some for every kind of device of every node: 512
// are one line of a processor's cache. A name's devices are numbered through all of its types.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace minke::sched {

inline constexpr std::uint32_t kMostDevices = 512;  // of one GRES name on one node

using DeviceSet = std::bitset<kMostDevices>;

inline std::int32_t count_of(const DeviceSet& devices) {
  return static_cast<std::int32_t>(devices.count());
}

// The devices [first, first + count), as far as there can be such.
inline DeviceSet device_range(std::size_t first, std::size_t count) {
  if (first >= kMostDevices || count == 0) return {};
  const DeviceSet all = ~DeviceSet{};
  return count >= kMostDevices ? all << first : (all >> (kMostDevices - count)) << first;
}

// Calls visit(number) for each, the lowest first.
template <typename Visit>
void each_device(const DeviceSet& devices, Visit visit) {
  std::size_t left = devices.count();
  for (std::size_t device = 0; left > 0; ++device) {
    if (!devices.test(device)) continue;
    visit(static_cast<std::uint32_t>(device));
    --left;
  }
}

// The `count` lowest of them; all where there are fewer.
inline DeviceSet lowest_devices(const DeviceSet& devices, std::size_t count) {
  DeviceSet lowest;
  for (std::size_t device = 0; count > 0 && device < kMostDevices; ++device) {
    if (!devices.test(device)) continue;
    lowest.set(device);
    --count;
  }
  return lowest;
}

}  // namespace minke::sched
