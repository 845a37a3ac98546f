// Demand: an estimate of which windows the waiting jobs could use. For each pair of a width class and a
// length class (powers of two) it has the shortest job and the latest start.
//
// It may say yes if no waiting job could use a window, but never says no if one could. So jobs that leave or
// move to an earlier place need not be reported. Call forget() and then add() for every job now and then.
// Owned by one ConservativePlan; pure.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "sched/availability.h"

namespace minke::sched {

class Demand {
 public:
  static constexpr std::size_t kWidths = 31;
  static std::size_t class_of(std::int32_t processors) {
    return static_cast<std::size_t>(std::bit_width(static_cast<std::uint32_t>(processors))) - 1;
  }

  void forget() {
    for (std::size_t i = narrowest_; i < kWidths; ++i) rows_[i] = {};
    all_ = {};
    narrowest_ = kWidths;
  }
  void add(std::int32_t processors, std::int64_t seconds, std::int64_t last_start) {
    const std::size_t width = class_of(processors);
    narrowest_ = std::min(narrowest_, width);
    rows_[width].add(seconds, last_start);
    all_.add(seconds, last_start);
  }
  std::size_t narrowest() const { return narrowest_; }  // kWidths: nothing waits
  bool has(std::size_t width) const { return rows_[width].first < kLengths; }
  // Whether jobs of a class that are planned later than `begin` might be as short as `seconds`.
  bool may_use(std::size_t width, std::int64_t seconds, std::int64_t begin) const {
    return rows_[width].may_use(seconds, begin);
  }
  // The same for jobs of any width.
  bool may_use(std::int64_t seconds, std::int64_t begin) const { return all_.may_use(seconds, begin); }

 private:
  static constexpr std::size_t kLengths =
      40;  // a million seconds have 20; what is longer shares the last one
  struct Row {
    std::array<std::int64_t, kLengths> shortest;
    std::array<std::int64_t, kLengths> latest;
    std::size_t first = kLengths;  // of those in use
    std::size_t last = 0;
    Row() {
      shortest.fill(Availability::kEnd);
      latest.fill(Availability::kBegin);
    }
    void add(std::int64_t seconds, std::int64_t last_start) {
      const auto bits = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(seconds)));
      const std::size_t length = std::min(bits, kLengths - 1);
      shortest[length] = std::min(shortest[length], seconds);
      latest[length] = std::max(latest[length], last_start);
      first = std::min(first, length);
      last = std::max(last, length);
    }
    bool may_use(std::int64_t seconds, std::int64_t begin) const {
      for (std::size_t i = first; i <= last; ++i)
        if (shortest[i] <= seconds && latest[i] > begin) return true;
      return false;
    }
  };

  std::array<Row, kWidths> rows_;
  Row all_;
  std::size_t narrowest_ = kWidths;
};

}  // namespace minke::sched
