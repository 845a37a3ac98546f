// WaitRanges: between what bounds a wait will lie in four of five cases, going by how forecasts of like waits
// came true.
//
// Forecasts are kept apart by the power of two of the forecast wait; of each the last ones' ratios of true to
// forecast wait. The bounds are the tenth and ninetieth hundredths of these ratios. Deterministic; bounded;
// owned by one thread.
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
  // Once a job has started: what its wait was forecast to be at its submission, and what it was.
  void started(std::int64_t forecast, std::int64_t wait);
  // With few forecasts known, the range is wide: from 0 to four times as long.
  Range range(std::int64_t forecast) const;

 private:
  static constexpr std::size_t kKept = 400;
  static constexpr std::size_t kEnough = 30;  // else the neighbours' count too
  static constexpr std::size_t kFew = 10;
  std::array<std::deque<double>, 64> ratios_;
};

}  // namespace minke::sched
