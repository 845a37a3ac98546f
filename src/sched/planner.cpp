#include "sched/planner.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "sched/placer.h"

namespace minke::sched {
namespace {
constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

// The end of a time that has `time` in it, which may be that nothing ever comes.
std::int64_t just_after(std::int64_t time) {
  return time == kForever ? kForever : time + 1;
}
}  // namespace

bool Planner::reserve(EntryId entry, const Request& request, std::int64_t window_seconds,
                      std::optional<std::int64_t> no_later) {
  future_ = machine_;
  releases_.clear();
  next_release_ = running_.by_end().begin();
  released_ = 0;
  active_.clear();
  auto found = earliest(request, no_later);
  if (!found || (window_seconds > 0 && found->start > now_ + window_seconds)) return false;
  found->entry = entry;
  protect(*found, found->start + request.planned_seconds());
  return true;
}

// Times between which the same reservations are active, and the same ones lie ahead within the job's run.
std::vector<std::int64_t> Planner::breakpoints(std::int64_t duration) const {
  std::vector<std::int64_t> times{now_ + 1};
  if (machine_.holds() != nullptr) machine_.holds()->add_breakpoints(now_, duration, times);
  for (std::size_t i = 0; i < reservations_.size(); ++i) {
    for (const std::int64_t time :
         {reservations_[i].start - duration + 1, reservations_[i].start, ends_[i]}) {
      if (time > now_) times.push_back(time);
    }
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

// Mostly it is still that very time: where the request does not fit just before it, nothing else is tried.
std::optional<Reservation> Planner::earliest_until(const Request& request, std::int64_t no_later) {
  const std::size_t fails = released_;
  std::size_t before = fails;
  while (reach(before + 1) && releases_[before].time < no_later) ++before;
  if (before > fails) {
    move_to(before);
    if (auto placement = try_at(request, releases_[before - 1].time)) {
      auto first = bisect(request, fails, std::move(*placement));
      return Reservation{0, releases_[released_ - 1].time, std::move(*first)};
    }
  }
  std::size_t count = before;
  while (reach(count + 1) && releases_[count].time == no_later) ++count;
  if (count == before) return std::nullopt;
  move_to(count);
  if (auto placement = try_at(request, no_later)) return Reservation{0, no_later, std::move(*placement)};
  return std::nullopt;
}

std::optional<Reservation> Planner::earliest(const Request& request, std::optional<std::int64_t> no_later) {
  const bool simple = reservations_.empty() && machine_.holds() == nullptr;
  if (simple && no_later && *no_later > now_ + 1) {
    enter(now_ + 1);
    if (released_ == 0) {  // it is as now
      if (auto found = earliest_until(request, *no_later)) return found;
    }
    move_to(0);
  }
  const std::vector<std::int64_t> times = breakpoints(request.planned_seconds());
  for (std::size_t i = 0; i < times.size(); ++i) {
    enter(times[i]);
    const bool as_now = simple && released_ == 0;  // where it does not fit
    if (auto placement = as_now ? std::nullopt : try_at(request, times[i]))
      return Reservation{0, times[i], std::move(*placement)};
    const std::int64_t until = i + 1 < times.size() ? times[i + 1] : kForever;
    const auto within = [&](std::size_t count) { return reach(count) && releases_[count - 1].time < until; };
    // In growing strides to the first state that will do, then back by halves.
    for (std::size_t stride = 1; within(released_ + 1); stride *= 2) {
      const std::size_t fails = released_;
      std::size_t target = fails + stride;
      while (!within(target)) target = fails + (target - fails + 1) / 2;
      move_to(target);
      auto placement = try_at(request, releases_[target - 1].time);
      if (!placement) continue;
      auto first = bisect(request, fails, std::move(*placement));
      return Reservation{0, releases_[released_ - 1].time, std::move(*first)};
    }
  }
  return std::nullopt;
}

// `fails` releases are too few, and the present number gives `found`: leaves the machine at the first time
// that does.
std::optional<Placement> Planner::bisect(const Request& request, std::size_t fails, Placement found) {
  std::size_t fits = released_;
  while (fits - fails > 1) {
    const std::size_t middle = fails + (fits - fails) / 2;
    move_to(middle);
    auto placement = try_at(request, releases_[middle - 1].time);
    (placement ? fits : fails) = middle;
    if (placement) found = std::move(*placement);
  }
  // All that ends at that very time is free by then.
  const std::int64_t time = releases_[fits - 1].time;
  while (reach(fits + 1) && releases_[fits].time == time) ++fits;
  move_to(fits);
  if (auto placement = try_at(request, time)) return placement;
  return found;
}

void Planner::enter(std::int64_t time) {
  std::erase_if(active_, [&](const Booking& booking) {
    if (ends_[booking.reservation] > time) return false;
    future_->release(booking.placement);
    return true;
  });
  std::size_t count = released_;
  while (reach(count + 1) && releases_[count].time <= time) ++count;
  move_to(count);
  for (std::size_t i = 0; i < reservations_.size(); ++i) {
    if (reservations_[i].start != time) continue;
    active_.push_back({i, rebind(reservations_[i].placement)});
    future_->allocate(active_.back().placement);
  }
}

// Whether there are so many releases at all.
bool Planner::reach(std::size_t count) {
  for (; releases_.size() < count && next_release_ != running_.by_end().end(); ++next_release_) {
    releases_.push_back({std::max(next_release_->first.time, now_ + 1), &next_release_->second});
  }
  return releases_.size() >= count;
}

void Planner::move_to(std::size_t count) {
  for (; released_ < count; ++released_) future_->release(*releases_[released_].placement);
  for (; released_ > count; --released_) future_->adopt(*releases_[released_ - 1].placement);
}

std::optional<Placement> Planner::try_at(const Request& request, std::int64_t time) const {
  auto placement = place_together(*future_, request, &caps_, time, time + request.planned_seconds());
  if (placement) return merged(*placement);
  return std::nullopt;
}

// The same amounts on the same nodes, with devices that are free by then: caps keep counts, not devices.
Placement Planner::rebind(const Placement& reserved) const {
  Placement bound = reserved;
  for (NodeShare& share : bound.nodes) {
    const LayoutNode& node = future_->layout().nodes()[share.node];
    for (GresShare& gres : share.gres) {
      for (std::uint32_t p = node.first_pool; p < node.first_pool + node.pool_count; ++p) {
        if (future_->layout().pools()[p].kind != gres.kind || gres.units > 0) continue;
        const std::size_t count = gres.devices.count();
        gres.devices = lowest_devices(future_->free_devices(p), count);
        MINKE_CHECK(gres.devices.count() == count);
      }
    }
  }
  return bound;
}

std::int64_t Planner::cpus_withheld(std::int64_t first) const {
  std::int64_t cpus = 0;
  for (const Reservation& made : reservations_) {
    if (made.start != first) continue;
    for (const NodeShare& share : made.placement.nodes) {
      if (!machine_.available(share.node)) continue;
      const std::int64_t free = std::max<std::int64_t>(0, machine_.free_cpus(share.node));
      cpus += free - std::max<std::int64_t>(0, caps_.cpus(share.node, now_, just_after(first), free));
    }
    return cpus;
  }
  return cpus;
}

std::int64_t Planner::most_node_cpus(std::int64_t first) const {
  std::int64_t most = 0;
  // From the nodes with most free CPUs down, until the others have no more than what is left on one.
  for (std::uint64_t cpus = machine_.most_node_cpus(); cpus > 0; cpus /= 2) {
    const RankSet& nodes = machine_.with_free_cpus(cpus);
    for (std::size_t word = 0; word < nodes.word_count(); ++word) {
      for (std::uint64_t set = nodes.word(word); set != 0; set &= set - 1) {
        const NodeId node =
            machine_.layout().node_at_rank(word * 64 + static_cast<std::size_t>(std::countr_zero(set)));
        if (machine_.free_cpus(node) <= most) continue;
        most = std::max(most, caps_.cpus(node, now_, just_after(first), machine_.free_cpus(node)));
      }
    }
    if (static_cast<std::uint64_t>(most) >= std::bit_floor(cpus)) break;
  }
  return most;
}

Planner::Left Planner::left_beyond(NodeId node, std::int64_t first) const {
  const LayoutNode& of = machine_.layout().nodes()[node];
  NodeSupply supply;
  supply.cpus = machine_.free_cpus(node);
  for (std::uint32_t i = 0; i < of.pool_count; ++i)
    supply.counts[i] = machine_.free_device_count(of.first_pool + i);
  caps_.limit(node, now_, just_after(first), {}, supply);
  Left left{supply.cpus, 0};
  for (std::uint32_t i = 0; i < of.pool_count; ++i) left.devices += std::max(0, supply.counts[i]);
  return left;
}

void Planner::protect(const Reservation& made, std::int64_t end) {
  caps_.consume(made.placement, made.start, end);  // of those that begin while this one runs
  const MachineLayout& layout = machine_.layout();
  for (const NodeShare& share : made.placement.nodes) {
    const LayoutNode& node = layout.nodes()[share.node];
    NodeSupply left;
    left.cpus = future_->free_cpus(share.node) - share.cpus;
    left.memory_mib = future_->free_memory_mib(share.node) - static_cast<std::int64_t>(share.memory_mib);
    for (std::uint32_t i = 0; i < node.pool_count; ++i) {
      DeviceSet free = future_->free_devices(node.first_pool + i);
      const GresPool& pool = layout.pools()[node.first_pool + i];
      std::int32_t units = pool.is_only_counted() ? future_->free_device_count(node.first_pool + i) : 0;
      for (const GresShare& gres : share.gres) {
        const bool shards = layout.is_shard(layout.gres_kinds()[gres.kind].name);
        if (gres.kind == pool.kind && pool.is_consumed) {
          free &= ~gres.devices;
          units -= static_cast<std::int32_t>(gres.units);
        }
        if (shards && layout.is_gpu(pool.name)) free &= ~layout.gpus_of_shards(share.node, gres.devices);
      }
      left.counts[i] = count_of(free) + units;
    }
    NodeRules rules = share.rules;
    if (rules.cpu_group != 0) {
      const std::int64_t group_left = future_->group_cpus_left(share.node, rules) - share.cpus;
      rules.socket_cpus = 0;  // it is in the number that is left
      rules.group_cpus = static_cast<std::uint32_t>(std::max<std::int64_t>(0, group_left));
    }
    caps_.add(share.node, made.start, left, rules);
  }
  reservations_.push_back(made);
  ends_.push_back(end);
}

}  // namespace minke::sched
