// Gains: when processors have become free in a plan since its jobs were last looked at.
//
// One pass of looks goes over the jobs in the order of submission. A gain of the pass is news to all that
// come after it, and in the next pass to those that came before. It is kept for both as a whole: a look at
// what is no news costs time, and finds nothing.
//
// Gains mark slots of time, which answer "has something become free right before this start?" with one bit,
// at times yes where it is no. Those that may be part of a window for a job that waits are Openings, with the
// longest window that they are part of for each class of widths. Gains of one stretch of free processors are
// one opening. A window of which two gains are part is known by the later one. What is taken since then makes
// windows smaller than they are said to be, never larger. Owned by one ConservativePlan; pure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sched/availability.h"
#include "sched/demand.h"

namespace minke::sched {

class Gains {
 public:
  struct Gain {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  struct Opening {
    Gain gain;
    std::int64_t from = 0;  // the windows are not before that
    std::int64_t until = 0;
    std::int32_t width = 0;                              // free processors, at most
    std::array<std::int64_t, Demand::kWidths> length{};  // of the longest window, by class of widths
    // No window as wide and as long begins before the gain's end and is part of it.
    std::int32_t vain_processors = 0x7fffffff;
    std::int64_t vain_seconds = 0;

    bool may_hold(std::int32_t processors, std::int64_t seconds) const {
      return processors <= width && seconds <= length[Demand::class_of(processors)] &&
             (processors < vain_processors || seconds < vain_seconds);
    }
  };

  void clear();
  // A new pass. All jobs are planned between `now` and `last_start`.
  void begin_pass(const Availability& free, const Demand& demand, std::int64_t now, std::int64_t last_start);
  // `processors` more are free there.
  void add(Gain gain, std::int32_t processors, const Availability& free, const Demand& demand,
           std::int64_t now);

  // Before that, nothing has become free.
  std::int64_t first() const { return first_; }
  // Returns false if nothing became free in the second before that.
  bool touch(std::int64_t time) const {
    const std::uint64_t slot = static_cast<std::uint64_t>(time - 1 - slots_begin_) >> shift_;
    return slots_[slot / 64] >> slot % 64 & 1;
  }
  // In the order of time; they have nothing in common with one another.
  const std::vector<Opening>& openings() const { return openings_; }
  // There is no such window. False: the opening is of no use any more, and has gone.
  bool note_vain(std::size_t opening, std::int32_t processors, std::int64_t seconds, const Demand& demand);
  // Numbers stay the same in a pass; gains that are added come last.
  std::size_t size() const { return gains_.size(); }
  const Gain& operator[](std::size_t number) const { return gains_[number]; }

 private:
  static constexpr int kSlotBits = 15;
  void mark(Gain gain);
  // At most `width` are free there at once, and `no_news` were before.
  void add_opening(Gain gain, std::int32_t width, std::int32_t no_news, const Availability& free,
                   const Demand& demand, std::int64_t now);

  std::vector<Gain> gains_;  // of this pass and the one before
  std::size_t older_ = 0;    // so many of them are of the pass before
  std::vector<Opening> openings_;
  struct Opened {
    Gain gain;
    std::int32_t no_news = 0;  // as many processors were free before
  };
  std::vector<Opened> opened_;  // those of this pass that were openings
  std::array<std::uint64_t, (1 << kSlotBits) / 64> slots_{};
  std::int64_t slots_begin_ = 0;
  int shift_ = 0;
  std::int64_t last_start_ = 0;
  std::int64_t first_ = Availability::kEnd;
};

}  // namespace minke::sched
