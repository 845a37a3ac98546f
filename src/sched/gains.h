// Gains: intervals in which processors became free in a plan since its jobs were last looked at.
//
// A pass looks at the jobs in the order of submission. A gain made during the pass is new to the jobs after
// it, and in the next pass to the jobs before it. It is kept for both passes as a whole: looking at a gain
// that is not new costs time but changes nothing.
//
// Gains mark slots of time. A slot answers with one bit whether something became free right before a start;
// it may say yes wrongly. A gain that may be part of a window for a waiting job is an Opening. It keeps the
// longest possible window for each width class. Gains in one stretch of free processors are one opening. If
// two gains are part of one window, the later one knows it. If processors are taken later, windows become
// smaller than recorded, never larger. Owned by one ConservativePlan; pure.
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
    std::int64_t from = 0;  // no window begins before this
    std::int64_t until = 0;
    std::int32_t width = 0;                              // free processors, at most
    std::array<std::int64_t, Demand::kWidths> length{};  // of the longest window, by class of widths
    // No window of this size begins before the gain's end and contains part of the gain.
    std::int32_t vain_processors = 0x7fffffff;
    std::int64_t vain_seconds = 0;

    bool may_hold(std::int32_t processors, std::int64_t seconds) const {
      return processors <= width && seconds <= length[Demand::class_of(processors)] &&
             (processors < vain_processors || seconds < vain_seconds);
    }
  };

  void clear();
  // Begins a new pass. All jobs are planned between `now` and `last_start`.
  void begin_pass(const Availability& free, const Demand& demand, std::int64_t now, std::int64_t last_start);
  // Records that `processors` more are free during `gain`.
  void add(Gain gain, std::int32_t processors, const Availability& free, const Demand& demand,
           std::int64_t now);

  // Nothing has become free before this time.
  std::int64_t first() const { return first_; }
  // Whether something became free in the second before `time`; may be true wrongly.
  bool touch(std::int64_t time) const {
    const std::uint64_t slot = static_cast<std::uint64_t>(time - 1 - slots_begin_) >> shift_;
    return slots_[slot / 64] >> slot % 64 & 1;
  }
  // In the order of time; they do not overlap.
  const std::vector<Opening>& openings() const { return openings_; }
  // Records that no such window exists. False: no job can use the opening any more, and it was removed.
  bool note_vain(std::size_t opening, std::int32_t processors, std::int64_t seconds, const Demand& demand);
  // Numbers do not change during a pass; new gains come last.
  std::size_t size() const { return gains_.size(); }
  const Gain& operator[](std::size_t number) const { return gains_[number]; }

 private:
  static constexpr int kSlotBits = 15;
  void mark(Gain gain);
  // At most `width` processors are free there at once; `no_news` of them were free before.
  void add_opening(Gain gain, std::int32_t width, std::int32_t no_news, const Availability& free,
                   const Demand& demand, std::int64_t now);

  std::vector<Gain> gains_;  // of this pass and the one before
  std::size_t older_ = 0;    // number of gains of the pass before
  std::vector<Opening> openings_;
  struct Opened {
    Gain gain;
    std::int32_t no_news = 0;  // number of processors that were free before
  };
  std::vector<Opened> opened_;  // gains of this pass that were openings
  std::array<std::uint64_t, (1 << kSlotBits) / 64> slots_{};
  std::int64_t slots_begin_ = 0;
  int shift_ = 0;
  std::int64_t last_start_ = 0;
  std::int64_t first_ = Availability::kEnd;
};

}  // namespace minke::sched
