#include "sched/holds.h"

#include <algorithm>

namespace minke::sched {
namespace {

constexpr std::int64_t kRepetitions = 4;  // that are looked at when times to begin are sought

// The first of its repetitions that ends after `time`.
std::int64_t shift_to(const Hold& hold, std::int64_t time) {
  if (hold.period <= 0 || time < hold.end) return 0;
  return ((time - hold.end) / hold.period + 1) * hold.period;
}

// Leaves `most` of what is held.
void leave(const HeldGres& held, std::span<const GresPool> pools, std::int64_t most, NodeSupply& supply) {
  most = std::max<std::int64_t>(0, most);
  for (std::size_t i = 0; i < pools.size(); ++i) {
    if (!held.counts(pools[i].name, pools[i].kind)) continue;
    supply.counts[i] = static_cast<std::int32_t>(std::min<std::int64_t>(supply.counts[i], most));
    most -= std::max(0, supply.counts[i]);
  }
}

// Takes `count` of what is held away.
void take(const HeldGres& held, std::span<const GresPool> pools, std::int64_t count, NodeSupply& supply) {
  std::int64_t there = 0;
  for (std::size_t i = 0; i < pools.size(); ++i)
    if (held.counts(pools[i].name, pools[i].kind)) there += std::max(0, supply.counts[i]);
  leave(held, pools, there - std::max<std::int64_t>(0, count), supply);
}

}  // namespace

bool overlaps(const Hold& hold, std::int64_t from, std::int64_t end) {
  if (end <= from) return false;
  if (hold.floating) return hold.start < end - from && hold.end > 0;
  const std::int64_t shift = shift_to(hold, from);
  return hold.start + shift < end && from < hold.end + shift;
}

Holds::Holds(std::vector<Hold> holds, std::vector<LicenseHold> licenses)
    : holds_(std::move(holds)), licenses_(std::move(licenses)) {
  std::stable_sort(holds_.begin(), holds_.end(),
                   [](const Hold& a, const Hold& b) { return a.node < b.node; });
}

bool Holds::limit(NodeId node, std::span<const GresPool> pools, HoldId own, std::int64_t from,
                  std::int64_t end, const std::vector<HoldUse>& used, NodeSupply& supply) const {
  const auto first = std::lower_bound(holds_.begin(), holds_.end(), node,
                                      [](const Hold& hold, NodeId id) { return hold.node < id; });
  const bool anywhere = own == 0 || !has_nodes(own);
  if (own != 0 && anywhere && end > from && !is_open(own, from)) return false;
  bool is_own = anywhere;
  std::int64_t most = supply.cpus;  // that the job's own reservation leaves it
  for (auto hold = first; hold != holds_.end() && hold->node == node; ++hold) {
    const HoldUse& in_use = used[static_cast<std::size_t>(hold - holds_.begin())];
    const std::int64_t left = std::int64_t{hold->cpus} - in_use.cpus;
    const auto gres_left = [&](std::size_t i) {
      return hold->gres[i].count - (i < in_use.gres.size() ? in_use.gres[i] : 0);
    };
    if (hold->id == own) {
      // At no time in particular, it is enough that it ever is the reservation's.
      const bool now = end <= from || overlaps(*hold, from, from + 1);
      if (!now && !hold->flexible) continue;
      is_own = true;
      if (hold->cpus > 0 && !hold->flexible) most = std::min(most, left);
      for (std::size_t i = 0; i < hold->gres.size() && !hold->flexible; ++i)
        leave(hold->gres[i], pools, gres_left(i), supply);
      continue;
    }
    if (!overlaps(*hold, from, end)) continue;
    if (hold->cpus == 0) return false;
    supply.cpus -= std::max<std::int64_t>(0, left);
    for (std::size_t i = 0; i < hold->gres.size(); ++i) take(hold->gres[i], pools, gres_left(i), supply);
  }
  supply.cpus = std::min(supply.cpus, most);
  if (is_own) return supply.cpus > 0;
  return supply.cpus > 0 && std::any_of(holds_.begin(), holds_.end(),
                                        [&](const Hold& hold) { return hold.id == own && hold.flexible; });
}

bool Holds::has_nodes(HoldId id) const {
  // A reservation that is gone holds nothing, and lets nobody in.
  return std::any_of(holds_.begin(), holds_.end(), [&](const Hold& hold) { return hold.id == id; }) ||
         std::none_of(licenses_.begin(), licenses_.end(),
                      [&](const LicenseHold& hold) { return hold.when.id == id; });
}

bool Holds::is_open(HoldId id, std::int64_t time) const {
  const auto open = [&](const Hold& hold) {
    return hold.id == id && (hold.flexible || overlaps(hold, time, time + 1));
  };
  return std::any_of(holds_.begin(), holds_.end(), open) ||
         std::any_of(licenses_.begin(), licenses_.end(),
                     [&](const LicenseHold& hold) { return open(hold.when); });
}

std::int64_t Holds::withheld(LicenseId license, HoldId own, std::int64_t from, std::int64_t end,
                             const std::vector<std::int64_t>& used) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < licenses_.size(); ++i) {
    const LicenseHold& hold = licenses_[i];
    if (hold.license != license || hold.when.id == own || !overlaps(hold.when, from, end)) continue;
    sum += std::max<std::int64_t>(0, hold.count - used[i]);
  }
  return sum;
}

const Hold* Holds::obstacle(NodeId node, HoldId own, std::int64_t from, std::int64_t end) const {
  for (const Hold& hold : holds_) {
    if (hold.node == node && hold.id != own && overlaps(hold, from, end)) return &hold;
  }
  return nullptr;
}

void Holds::add_breakpoints(std::int64_t now, std::int64_t duration, std::vector<std::int64_t>& times) const {
  const auto add = [&](const Hold& hold) {
    if (hold.floating) return;
    const std::int64_t first = shift_to(hold, now);
    for (std::int64_t i = 0; i < (hold.period > 0 ? kRepetitions : 1); ++i) {
      const std::int64_t shift = first + i * hold.period;
      for (const std::int64_t time :
           {hold.start + shift - duration + 1, hold.start + shift, hold.end + shift}) {
        if (time > now) times.push_back(time);
      }
    }
  };
  for (const Hold& hold : holds_) add(hold);
  for (const LicenseHold& hold : licenses_) add(hold.when);
}

std::optional<std::int64_t> Holds::next_change(std::int64_t now) const {
  std::optional<std::int64_t> next;
  const auto consider = [&](const Hold& hold) {
    if (hold.floating) return;
    const std::int64_t shift = shift_to(hold, now);
    for (const std::int64_t time : {hold.start + shift, hold.end + shift}) {
      if (time > now && (!next || time < *next)) next = time;
    }
  };
  for (const Hold& hold : holds_) consider(hold);
  for (const LicenseHold& hold : licenses_) consider(hold.when);
  return next;
}

std::optional<std::size_t> Holds::find(NodeId node, HoldId id) const {
  for (std::size_t i = 0; i < holds_.size(); ++i) {
    if (holds_[i].node == node && holds_[i].id == id) return i;
  }
  return std::nullopt;
}

}  // namespace minke::sched
