// Availability: the number of free processors over time, as a step function. It finds the earliest window for
// a request, and changes when a job is planned, moved or removed.
//
// Steps lie in blocks of at most kBlock. A block has its least and greatest value, and an offset for changes
// that cover it whole. So a change costs O(kBlock + blocks), and a search skips blocks without a suitable
// step. Invariants: neighbouring steps differ; after the last one everything is free. Times are in seconds,
// between kBegin and kEnd. Owned by one thread; pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace minke::sched {

class Availability {
 public:
  static constexpr std::int64_t kBegin = std::numeric_limits<std::int64_t>::min() / 4;
  static constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max() / 4;

  explicit Availability(std::int32_t processors);

  std::int32_t free_at(std::int64_t time) const;
  // Adds `processors` during [begin, end); a negative number takes them. An empty interval changes nothing.
  void add(std::int64_t begin, std::int64_t end, std::int32_t processors);
  // Drops the steps before `now`. No later question may be about a time before it.
  void forget_before(std::int64_t now);

  // The earliest start of a window of `seconds` >= 1 with `processors` free throughout, not before `from`.
  // `processors` must be at most what the machine has.
  std::int64_t earliest(std::int64_t from, std::int32_t processors, std::int64_t seconds) const {
    return earliest(from, kEnd, processors, seconds, [](std::int64_t) { return kEnd; }).start;
  }
  struct Window {
    std::int64_t start = 0;  // kEnd: there is none
    std::int64_t until = 0;  // the processors are free until here; not searched beyond the window's end
  };
  // The same for a job that is already planned. Its own processors count as free from its planned start on,
  // and `planned_after` gives the start of the job that would be moved to a given time. The window must begin
  // before `before`; later windows are not searched.
  template <typename PlannedAfter>
  Window earliest(std::int64_t from, std::int64_t before, std::int32_t processors, std::int64_t seconds,
                  PlannedAfter planned_after) const {
    if (from >= before) return {kEnd, kEnd};
    Position at = find(from);
    while (scan(at, before, With{processors})) {
      const std::int64_t start = std::max(from, time_of(at));
      if (start >= before) break;
      const std::int64_t end = start + seconds;
      const std::int64_t planned = planned_after(start);
      const std::int64_t until = scan(at, end, Below{processors}) ? time_of(at) : kEnd;
      if (until >= std::min(end, planned)) return {start, std::min(until, end)};
    }
    return {kEnd, kEnd};
  }

  // The time since when `processors` are free without a break up to `time`. Returns `time` if they are not
  // free right before it. Looks back no further than `limit`, which is earlier than `time`.
  std::int64_t free_since(std::int64_t time, std::int32_t processors, std::int64_t limit) const;
  // The first time from `time` on, up to `limit` or a little later, at which fewer are free; kEnd: never.
  std::int64_t free_until(std::int64_t time, std::int64_t limit, std::int32_t processors) const;
  // The smallest and the largest number of free processors in a non-empty interval.
  struct Range {
    std::int32_t least = 0;
    std::int32_t most = 0;
  };
  Range range(std::int64_t begin, std::int64_t end) const;
  // The windows with `processors` free throughout that overlap a non-empty interval. They begin at `limit` at
  // the earliest; `limit` is not after `begin`.
  struct Room {
    std::int64_t longest = 0;  // seconds; 0: there is none
    std::int64_t from = 0;     // begin of the first window
    std::int64_t until = 0;    // end of the last window
  };
  Room room(std::int64_t begin, std::int64_t end, std::int32_t processors, std::int64_t limit) const;

  std::size_t steps() const;

 private:
  static constexpr std::uint32_t kBlock = 32;
  struct Steps {
    std::array<std::int64_t, kBlock> time;
    std::array<std::int32_t, kBlock> free;  // less the block's offset
  };
  struct Block {
    std::int64_t first = 0;  // time of the first step
    std::int32_t offset = 0;
    std::int32_t least = 0;  // less the offset
    std::int32_t most = 0;
    std::uint32_t count = 0;
    std::unique_ptr<Steps> steps;
  };
  struct Position {
    std::size_t block = 0;
    std::uint32_t step = 0;
  };

  Position find(std::int64_t time) const;  // the step that is in force at `time`
  std::size_t find_block(std::int64_t time) const;
  std::int32_t value(Position at) const {
    return blocks_[at.block].steps->free[at.step] + blocks_[at.block].offset;
  }
  std::int64_t time_of(Position at) const { return blocks_[at.block].steps->time[at.step]; }
  struct Below {
    std::int32_t processors;
    bool block(std::int32_t least, std::int32_t) const { return least < processors; }
    bool step(std::int32_t free) const { return free < processors; }
  };
  struct With {
    std::int32_t processors;
    bool block(std::int32_t, std::int32_t most) const { return most >= processors; }
    bool step(std::int32_t free) const { return free >= processors; }
  };
  // Moves `at` to the first step that `wanted` accepts. False: none before `end` (or a little later).
  template <typename Wanted>
  bool scan(Position& at, std::int64_t end, Wanted wanted) const {
    for (; at.block < blocks_.size() && blocks_[at.block].first < end; ++at.block, at.step = 0) {
      const Block& block = blocks_[at.block];
      if (!wanted.block(block.least + block.offset, block.most + block.offset)) continue;
      for (; at.step < block.count; ++at.step) {
        if (wanted.step(block.steps->free[at.step] + block.offset)) return true;
      }
    }
    return false;
  }
  std::int64_t run_begin(Position at, std::int64_t time, std::int32_t processors, std::int64_t limit) const;
  Position cut(std::int64_t time);  // makes sure that a step begins there
  void join(Position at);           // removes the step if it equals the one before
  void remove_step(Position at);
  void split(std::size_t block);
  void index_blocks();
  static void summarize(Block& block);

  std::vector<Block> blocks_;
  // Index of blocks by evenly spaced times, up to the begin of the last block.
  static constexpr int kIndexBits = 9;
  std::array<std::uint32_t, 1 << kIndexBits> index_{};
  std::int64_t index_begin_ = 0;
  int index_shift_ = 0;
  // The last block and step that were found: the next question is often nearby.
  mutable std::size_t last_found_ = 0;
  mutable std::uint32_t last_step_ = 0;
};

}  // namespace minke::sched
