#include "sched/wait_ranges.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace minke::sched {
namespace {
std::size_t bin_of(std::int64_t forecast) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(forecast))) - 1;
}
}  // namespace

void WaitRanges::started(std::int64_t forecast, std::int64_t wait) {
  if (forecast <= 0) return;  // it was to start at once, and nothing scales
  std::deque<double>& ratios = ratios_[bin_of(forecast)];
  ratios.push_back(static_cast<double>(wait) / static_cast<double>(forecast));
  if (ratios.size() > kKept) ratios.pop_front();
}

WaitRanges::Range WaitRanges::range(std::int64_t forecast) const {
  if (forecast <= 0) return {};
  const std::size_t bin = bin_of(forecast);
  std::vector<double> ratios(ratios_[bin].begin(), ratios_[bin].end());
  if (ratios.size() < kEnough) {
    if (bin > 0) ratios.insert(ratios.end(), ratios_[bin - 1].begin(), ratios_[bin - 1].end());
    if (bin + 1 < ratios_.size())
      ratios.insert(ratios.end(), ratios_[bin + 1].begin(), ratios_[bin + 1].end());
  }
  if (ratios.size() < kFew) return {0, forecast * 4};
  std::sort(ratios.begin(), ratios.end());
  const auto times = [&](std::size_t tenths) {
    const double ratio = ratios[std::min(ratios.size() - 1, ratios.size() * tenths / 10)];
    return ratio * static_cast<double>(forecast);
  };
  // Outwards to whole seconds.
  return {static_cast<std::int64_t>(times(1)), static_cast<std::int64_t>(times(9)) + 1};
}

}  // namespace minke::sched
