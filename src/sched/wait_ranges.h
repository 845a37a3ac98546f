// WaitRanges: the range in which a wait will lie in four of five cases,
// learned from earlier forecasts.
//
// Forecasts are grouped by the power of two of the forecast wait. Each group keeps the last ratios of
// the true wait to the forecast wait. The bounds are the 10th and the 90th percentile of these ratios.
// Deterministic; bounded memory; owned by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

namespace minke::sched {

class WaitRanges {
 public:
  struct Range {
    std::int64_t least = 0;  // s
    std::int64_t most = 0;
  };
  // Call it when a job has started, with the wait forecast at its submission and its true wait, both in s.
  void started(std::int64_t forecast, std::int64_t wait);
  // If few forecasts are known, the range is wide: from 0 to four times the forecast.
  Range range(std::int64_t forecast) const;

 private:
  static constexpr std::size_t kKept = 400;
  static constexpr std::size_t kEnough = 30;  // with fewer, neighbouring groups count too
  static constexpr std::size_t kFew = 10;
  std::array<std::deque<double>, 64> ratios_;
};

}  // namespace minke::sched
