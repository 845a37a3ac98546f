// Demand: what the jobs that wait could use, roughly: for each class of widths and of lengths (powers of two
// and what is below the next), the shortest job and the latest start.
//
// It says yes at times where nothing waits any more that could use a window, and never no where something
// does: jobs that leave or move to earlier places need not be told; forget() and add() everything once in a
// while. Owned by one ConservativePlan; pure.
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
  // Whether jobs of a class that are planned later than `begin` might be as short as that.
  bool may_use(std::size_t width, std::int64_t seconds, std::int64_t begin) const {
    return rows_[width].may_use(seconds, begin);
  }
  // Of any width.
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
