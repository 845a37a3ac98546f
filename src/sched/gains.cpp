#include "sched/gains.h"

#include <algorithm>

namespace minke::sched {

void Gains::clear() {
  gains_.clear();
  openings_.clear();
  older_ = 0;
  opened_.clear();
}

void Gains::begin_pass(const Availability& free, const Demand& demand, std::int64_t now,
                       std::int64_t last_start) {
  slots_.fill(0);
  slots_begin_ = now;
  last_start_ = last_start;
  shift_ = std::max<int>(0, static_cast<int>(std::bit_width(
                                static_cast<std::uint64_t>(std::max<std::int64_t>(last_start - now, 0)))) -
                                kSlotBits);
  first_ = Availability::kEnd;
  gains_.erase(gains_.begin(), gains_.begin() + static_cast<std::ptrdiff_t>(older_));
  for (Gain& gain : gains_) {
    gain.begin = std::max(gain.begin, now);
    mark(gain);
  }
  older_ = gains_.size();
  openings_.clear();
  std::vector<Opened> opened;
  opened.swap(opened_);
  for (auto [gain, no_news] : opened) {
    gain.begin = std::max(gain.begin, now);
    if (gain.begin < gain.end)
      add_opening(gain, free.range(gain.begin, gain.end).most, no_news, free, demand, now);
  }
  opened_.clear();
}

void Gains::add(Gain gain, std::int32_t processors, const Availability& free, const Demand& demand,
                std::int64_t now) {
  if (gain.begin >= last_start_) return;
  gains_.push_back(gain);
  mark(gain);
  const Availability::Range range = free.range(gain.begin, gain.end);
  add_opening(gain, range.most, range.least - processors, free, demand, now);
}

void Gains::mark(Gain gain) {
  gain.end = std::min(gain.end, last_start_);
  if (gain.begin >= gain.end) return;
  first_ = std::min(first_, gain.begin);
  const std::uint64_t first = static_cast<std::uint64_t>(gain.begin - slots_begin_) >> shift_;
  const std::uint64_t last = static_cast<std::uint64_t>(gain.end - 1 - slots_begin_) >> shift_;
  const std::uint64_t from = ~std::uint64_t{0} << first % 64;
  const std::uint64_t to = ~std::uint64_t{0} >> (63 - last % 64);
  if (first / 64 == last / 64) {
    slots_[first / 64] |= from & to;
    return;
  }
  slots_[first / 64] |= from;
  for (std::uint64_t i = first / 64 + 1; i < last / 64; ++i) slots_[i] = ~std::uint64_t{0};
  slots_[last / 64] |= to;
}

bool Gains::note_vain(std::size_t number, std::int32_t processors, std::int64_t seconds,
                      const Demand& demand) {
  Opening& opening = openings_[number];
  opening.vain_processors = processors;
  opening.vain_seconds = seconds;
  const std::size_t width = Demand::class_of(processors);
  const bool is_least = std::has_single_bit(static_cast<std::uint32_t>(processors));  // of its class
  for (std::size_t i = width + (is_least ? 0 : 1); i < Demand::kWidths; ++i)
    opening.length[i] = std::min(opening.length[i], seconds - 1);
  for (std::size_t i = demand.narrowest(); i < Demand::kWidths && 1 << i <= opening.width; ++i)
    if (demand.may_use(i, opening.length[i], opening.gain.begin)) return true;
  openings_.erase(openings_.begin() + static_cast<std::ptrdiff_t>(number));
  return false;
}

void Gains::add_opening(Gain gain, std::int32_t width, std::int32_t no_news, const Availability& free,
                        const Demand& demand, std::int64_t now) {
  Opening added{gain, gain.begin, gain.end, width, {}};
  bool useful = false;
  bool is_first = true;
  // What needs no more than was free before has no news.
  const std::size_t narrowest = std::max(demand.narrowest(), Demand::class_of(no_news + 1));
  for (std::size_t i = narrowest; i < Demand::kWidths && 1 << i <= added.width; ++i) {
    if (!demand.has(i)) continue;
    const Availability::Room room = free.room(gain.begin, gain.end, 1 << i, now);
    added.length[i] = room.longest;
    if (is_first) {
      is_first = false;
      added.from = room.from;
      added.until = room.until;
    }
    if (!demand.may_use(room.longest, gain.begin)) break;
    useful = useful || demand.may_use(i, room.longest, gain.begin);
  }
  if (!useful) return;
  opened_.push_back({gain, no_news});

  std::size_t first = 0;
  while (first < openings_.size() && openings_[first].until < added.from) ++first;
  std::size_t last = first;
  for (; last < openings_.size() && openings_[last].from <= added.until; ++last) {
    const Opening& other = openings_[last];
    added.gain = {std::min(added.gain.begin, other.gain.begin), std::max(added.gain.end, other.gain.end)};
    added.from = std::min(added.from, other.from);
    added.until = std::max(added.until, other.until);
    added.width = std::max(added.width, other.width);
    for (std::size_t i = 0; i < added.length.size(); ++i)
      added.length[i] = std::max(added.length[i], other.length[i]);
  }
  if (first == last) {
    openings_.insert(openings_.begin() + static_cast<std::ptrdiff_t>(first), added);
  } else {
    openings_[first] = added;
    openings_.erase(openings_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                    openings_.begin() + static_cast<std::ptrdiff_t>(last));
  }
}

}  // namespace minke::sched
