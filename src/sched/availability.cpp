#include "sched/availability.h"

#include <algorithm>
#include <bit>

namespace minke::sched {

Availability::Availability(std::int32_t processors) {
  Block block;
  block.first = kBegin;
  block.count = 1;
  block.steps = std::make_unique<Steps>();
  block.steps->time[0] = kBegin;
  block.steps->free[0] = processors;
  summarize(block);
  blocks_.push_back(std::move(block));
}

void Availability::summarize(Block& block) {
  std::int32_t least = block.steps->free[0];
  std::int32_t most = least;
  for (std::uint32_t i = 1; i < block.count; ++i) {
    least = std::min(least, block.steps->free[i]);
    most = std::max(most, block.steps->free[i]);
  }
  block.least = least;
  block.most = most;
}

std::size_t Availability::steps() const {
  std::size_t count = 0;
  for (const Block& block : blocks_) count += block.count;
  return count;
}

namespace {

// The last of `count` >= 1 ascending ones that is not behind; 0 where all are. Without branches: where a time
// lies is hard to foretell.
template <typename NotBehind>
std::size_t last_at_or_before(std::size_t count, NotBehind not_behind) {
  std::size_t base = 0;
  while (count > 1) {
    const std::size_t half = count / 2;
    base += not_behind(base + half) ? half : 0;
    count -= half;
  }
  return base;
}

}  // namespace

// Where blocks have come or gone. Times in between are guessed evenly; find() walks the rest of the way.
void Availability::index_blocks() {
  if (blocks_.size() < 2) return;
  index_begin_ = blocks_[1].first;
  const auto span = static_cast<std::uint64_t>(blocks_.back().first - index_begin_);
  index_shift_ = std::max(0, static_cast<int>(std::bit_width(span)) - kIndexBits);
  std::size_t block = 0;
  for (std::size_t i = 0; i < index_.size(); ++i) {
    const std::int64_t time = index_begin_ + static_cast<std::int64_t>(i << index_shift_);
    while (block + 1 < blocks_.size() && blocks_[block + 1].first <= time) ++block;
    index_[i] = static_cast<std::uint32_t>(block);
  }
}

std::size_t Availability::find_block(std::int64_t time) const {
  std::size_t block = 0;
  if (blocks_.size() > 1 && time >= index_begin_) {
    const std::uint64_t slot = static_cast<std::uint64_t>(time - index_begin_) >> index_shift_;
    block =
        std::min<std::size_t>(index_[std::min<std::uint64_t>(slot, index_.size() - 1)], blocks_.size() - 1);
  }
  while (block + 1 < blocks_.size() && blocks_[block + 1].first <= time) ++block;
  while (block > 0 && blocks_[block].first > time) --block;
  return block;
}

Availability::Position Availability::find(std::int64_t time) const {
  const bool same = last_found_ < blocks_.size() && blocks_[last_found_].first <= time &&
                    (last_found_ + 1 == blocks_.size() || time < blocks_[last_found_ + 1].first);
  if (!same) last_found_ = find_block(time);
  const Block& block = blocks_[last_found_];
  const Steps& steps = *block.steps;
  if (same && last_step_ < block.count && steps.time[last_step_] <= time &&
      (last_step_ + 1 == block.count || time < steps.time[last_step_ + 1]))
    return {last_found_, last_step_};
  last_step_ = static_cast<std::uint32_t>(
      last_at_or_before(block.count, [&](std::size_t i) { return steps.time[i] <= time; }));
  return {last_found_, last_step_};
}

std::int32_t Availability::free_at(std::int64_t time) const {
  return value(find(time));
}

// ---- changes --------------------------------------------------------------------------------------

void Availability::split(std::size_t index) {
  Block upper;
  Block& lower = blocks_[index];
  upper.steps = std::make_unique<Steps>();
  upper.offset = lower.offset;
  const std::uint32_t half = lower.count / 2;
  upper.count = lower.count - half;
  std::copy_n(lower.steps->time.begin() + half, upper.count, upper.steps->time.begin());
  std::copy_n(lower.steps->free.begin() + half, upper.count, upper.steps->free.begin());
  upper.first = upper.steps->time[0];
  lower.count = half;
  summarize(lower);
  summarize(upper);
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(index) + 1, std::move(upper));
  index_blocks();
}

Availability::Position Availability::cut(std::int64_t time) {
  Position at = find(time);
  if (blocks_[at.block].steps->time[at.step] == time) return at;
  if (blocks_[at.block].count == kBlock) {
    split(at.block);
    const std::uint32_t lower = blocks_[at.block].count;
    if (at.step >= lower) at = {at.block + 1, at.step - lower};
  }
  Block& block = blocks_[at.block];
  Steps& steps = *block.steps;
  std::copy_backward(steps.time.begin() + at.step + 1, steps.time.begin() + block.count,
                     steps.time.begin() + block.count + 1);
  std::copy_backward(steps.free.begin() + at.step + 1, steps.free.begin() + block.count,
                     steps.free.begin() + block.count + 1);
  steps.time[at.step + 1] = time;
  steps.free[at.step + 1] = steps.free[at.step];
  ++block.count;
  return {at.block, at.step + 1};
}

void Availability::join(Position at) {
  if (at.step > 0) {
    const Steps& steps = *blocks_[at.block].steps;
    if (steps.free[at.step] == steps.free[at.step - 1]) remove_step(at);
  } else if (at.block > 0 && value({at.block - 1, blocks_[at.block - 1].count - 1}) == value(at)) {
    remove_step(at);
  }
}

void Availability::remove_step(Position at) {
  Block& block = blocks_[at.block];
  if (block.count == 1) {
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at.block));
    index_blocks();
    return;
  }
  Steps& steps = *block.steps;
  std::copy(steps.time.begin() + at.step + 1, steps.time.begin() + block.count, steps.time.begin() + at.step);
  std::copy(steps.free.begin() + at.step + 1, steps.free.begin() + block.count, steps.free.begin() + at.step);
  --block.count;
  block.first = steps.time[0];
  // Within the block an equal step stays, and with it the summary; else the step may have been an extreme.
  if (at.step == 0) summarize(block);
}

void Availability::add(std::int64_t begin, std::int64_t end, std::int32_t processors) {
  if (begin >= end || processors == 0) return;
  cut(end);
  const Position first = cut(begin);
  Position at = first;
  for (; at.block < blocks_.size(); ++at.block, at.step = 0) {
    Block& block = blocks_[at.block];
    if (block.first >= end) break;
    const bool whole = at.step == 0 && at.block + 1 < blocks_.size() && blocks_[at.block + 1].first <= end;
    if (whole) {
      block.offset += processors;
      continue;
    }
    Steps& steps = *block.steps;
    std::int32_t least = steps.free[at.step];  // of those that change
    std::int32_t most = least;
    for (; at.step < block.count && steps.time[at.step] < end; ++at.step) {
      std::int32_t& free = steps.free[at.step];
      least = std::min(least, free);
      most = std::max(most, free);
      free += processors;
    }
    if (processors > 0 ? least == block.least : most == block.most) {
      summarize(block);
    } else {
      block.least = std::min(block.least, least + processors);
      block.most = std::max(block.most, most + processors);
    }
    if (at.step < block.count) break;
  }
  join(at);  // the step at `end`; what lies before it stays where it is
  join(first);
}

void Availability::forget_before(std::int64_t now) {
  std::size_t past = 0;
  while (past + 1 < blocks_.size() && blocks_[past + 1].first <= now) ++past;
  if (past == 0) return;
  blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(past));
  index_blocks();
}

// ---- searches -------------------------------------------------------------------------------------

std::int64_t Availability::free_since(std::int64_t time, std::int32_t processors, std::int64_t limit) const {
  const Position at = find(time - 1);
  return value(at) < processors ? time : run_begin(at, time, processors, limit);
}

std::int64_t Availability::free_until(std::int64_t time, std::int64_t limit, std::int32_t processors) const {
  Position at = find(time);
  return scan(at, limit, Below{processors}) ? time_of(at) : kEnd;
}

Availability::Range Availability::range(std::int64_t begin, std::int64_t end) const {
  Position at = find(begin);
  Range range{value(at), value(at)};
  for (; at.block < blocks_.size() && blocks_[at.block].first < end; ++at.block, at.step = 0) {
    const Block& block = blocks_[at.block];
    if (block.most + block.offset <= range.most && block.least + block.offset >= range.least) continue;
    for (; at.step < block.count && block.steps->time[at.step] < end; ++at.step) {
      const std::int32_t free = block.steps->free[at.step] + block.offset;
      range.least = std::min(range.least, free);
      range.most = std::max(range.most, free);
    }
  }
  return range;
}

Availability::Room Availability::room(std::int64_t begin, std::int64_t end, std::int32_t processors,
                                      std::int64_t limit) const {
  Position at = find(begin);
  Room room{0, begin, begin};
  bool is_first = true;
  std::int64_t from = begin;
  if (value(at) >= processors && begin > limit) from = run_begin(at, begin, processors, limit);
  while (scan(at, end, With{processors})) {
    if (time_of(at) > begin) from = time_of(at);
    if (from >= end) break;
    const std::int64_t until = scan(at, kEnd, Below{processors}) ? time_of(at) : kEnd;
    if (is_first) room.from = from;
    is_first = false;
    room.until = until;
    room.longest = std::max(room.longest, until - from);
    if (until >= end) break;
  }
  return room;
}

// Backwards from `time` > limit, at which `at` holds.
std::int64_t Availability::run_begin(Position at, std::int64_t time, std::int32_t processors,
                                     std::int64_t limit) const {
  std::int64_t begin = time;
  std::uint32_t count = time_of(at) < time ? at.step + 1 : at.step;  // steps of the block that precede it
  for (std::size_t index = at.block;;) {
    const Block& block = blocks_[index];
    if (count == block.count && block.least + block.offset >= processors) {
      begin = block.first;
    } else {
      for (std::uint32_t i = count; i-- > 0;) {
        if (block.steps->free[i] + block.offset < processors) return std::max(begin, limit);
        begin = block.steps->time[i];
      }
    }
    if (begin <= limit || index == 0) return std::max(begin, limit);
    count = blocks_[--index].count;
  }
}

}  // namespace minke::sched
