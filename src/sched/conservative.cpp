#include "sched/conservative.h"

#include <algorithm>

#include "base/result.h"

namespace minke::sched {

std::int64_t ConservativePlan::submit(JobKey job, std::int32_t processors, std::int64_t seconds,
                                      std::int64_t now) {
  free_.forget_before(now);
  const std::int64_t start = free_.earliest(now, processors, seconds);
  free_.add(start, start + seconds, -processors);
  if (used_ == capacity_) make_room();
  jobs_[used_] = job;
  ++waiting_;
  set_leaf(used_++, {start, start, seconds, processors});
  return start;
}

void ConservativePlan::end(std::int32_t processors, std::int64_t planned_end, std::int64_t now) {
  free_.forget_before(now);
  if (planned_end > now) free_.add(now, planned_end, processors);
  active_.clear();
  candidates_.clear();
  std::vector<Gain> old;
  old.swap(old_gains_);
  if (waiting_ == 0) return;
  std::sort(old.begin(), old.end(), [](const Gain& a, const Gain& b) { return a.begin < b.begin; });
  for (std::size_t i = 0; i < old.size();) {
    Gain gain = old[i];
    for (++i; i < old.size() && old[i].begin <= gain.end; ++i) {
      gain.end = std::max(gain.end, old[i].end);
      gain.limit = std::max(gain.limit, old[i].limit);
    }
    if (gain.end > now) add_gain({std::max(gain.begin, now), gain.end, gain.limit}, 0, now);
  }
  if (planned_end > now) add_gain({now, planned_end, used_}, 0, now);
  compress(now);
}

ConservativePlan::Start ConservativePlan::take_started() {
  MINKE_CHECK(waiting_ > 0);
  std::uint32_t node = 1;
  while (node < capacity_) node = node * 2 + (tree_[node * 2].first_start == tree_[node].first_start ? 0 : 1);
  const std::uint32_t position = node - capacity_;
  const Start started{jobs_[position], tree_[node].first_start};
  set_leaf(position, {});
  if (--waiting_ == 0) {
    used_ = 0;
    old_gains_.clear();
  }
  return started;
}

// ---- the tree over the queue ----------------------------------------------------------------------

void ConservativePlan::set_leaf(std::uint32_t position, const Node& leaf) {
  std::uint32_t node = capacity_ + position;
  tree_[node] = leaf;
  while ((node /= 2) > 0) {
    const Node& a = tree_[node * 2];
    const Node& b = tree_[node * 2 + 1];
    const Node joined{std::min(a.first_start, b.first_start), std::max(a.last_start, b.last_start),
                      std::min(a.shortest, b.shortest), std::min(a.narrowest, b.narrowest)};
    if (joined == tree_[node]) return;
    tree_[node] = joined;
  }
}

// All positions are used: those that wait close up, and half of the room is free again.
void ConservativePlan::make_room() {
  std::vector<Node> leaves;
  std::vector<JobKey> jobs;
  std::vector<std::uint32_t> new_position(used_ + 1);
  for (std::uint32_t i = 0; i < used_; ++i) {
    new_position[i] = static_cast<std::uint32_t>(jobs.size());
    if (leaf(i).first_start == kNever) continue;
    leaves.push_back(leaf(i));
    jobs.push_back(jobs_[i]);
  }
  new_position[used_] = static_cast<std::uint32_t>(jobs.size());
  for (Gain& gain : old_gains_) gain.limit = new_position[gain.limit];
  used_ = static_cast<std::uint32_t>(jobs.size());
  capacity_ = 64;
  while (capacity_ < 2 * jobs.size()) capacity_ *= 2;
  jobs_ = std::move(jobs);
  jobs_.resize(capacity_);
  tree_.assign(std::size_t{2} * capacity_, {});
  std::copy(leaves.begin(), leaves.end(), tree_.begin() + capacity_);
  for (std::uint32_t i = capacity_ - 1; i > 0; --i) {
    const Node& a = tree_[i * 2];
    const Node& b = tree_[i * 2 + 1];
    tree_[i] = {std::min(a.first_start, b.first_start), std::max(a.last_start, b.last_start),
                std::min(a.shortest, b.shortest), std::min(a.narrowest, b.narrowest)};
  }
}

// The first position from `next` on, below the gain's limit, whose job the gain might move: it is no wider
// than what is free, its place is behind the gain's begin, and either it is short enough to fit before its
// place, or its place begins so close behind that it could slide.
std::uint32_t ConservativePlan::next_candidate(const Active& active, std::uint32_t next) const {
  const Gain& gain = active.gain;
  if (next >= gain.limit) return kDone;
  const auto possible = [&](std::uint32_t index) {
    const Node& node = tree_[index];
    if (node.narrowest > active.width || node.last_start <= gain.begin) return false;
    for (const Told& told : active.told)
      if (told.start >= gain.end && told.of(node)) return false;
    return node.first_start <= gain.end ||
           node.shortest <= std::min(active.until, node.last_start) - active.from;
  };
  // Upwards from the leaf to the first subtree to the right that may have one, then down; a subtree may
  // disappoint, since its figures may be of different jobs.
  std::uint32_t node = capacity_ + next;
  for (;;) {
    if (possible(node)) {
      if (node >= capacity_) return node - capacity_ < gain.limit ? node - capacity_ : kDone;
      node *= 2;
      continue;
    }
    while (node & 1) node /= 2;
    if (node == 0) return kDone;
    ++node;
    if ((node & (node - 1)) == 0) return kDone;  // beyond the right edge
  }
}

// ---- compression ----------------------------------------------------------------------------------

// False where nobody can use it any more: what becomes free there later is a gain of its own.
bool ConservativePlan::measure(Active& active, std::int64_t now) const {
  const std::int32_t narrowest = tree_[1].narrowest;
  const Gain& gain = active.gain;
  const Availability::Stretch stretch = free_.stretch(gain.begin, gain.end, narrowest, now);
  active.width = stretch.most;
  active.from = stretch.from;
  active.until = stretch.until;
  return active.width >= narrowest;
}

void ConservativePlan::remove_active(std::size_t from, std::size_t to) {
  active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(from),
                active_.begin() + static_cast<std::ptrdiff_t>(to));
  candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(from),
                    candidates_.begin() + static_cast<std::ptrdiff_t>(to));
}

void ConservativePlan::add_gain(Gain gain, std::uint32_t next, std::int64_t now) {
  Active added{gain, 0, 0, 0, {}};
  if (!measure(added, now)) return;
  std::size_t first = 0;
  while (first < active_.size() && active_[first].until < added.from) ++first;
  std::size_t last = first;
  for (; last < active_.size() && active_[last].from <= added.until; ++last) {
    const Gain& other = active_[last].gain;
    added.gain = {std::min(added.gain.begin, other.begin), std::max(added.gain.end, other.end),
                  std::max(added.gain.limit, other.limit)};
  }
  if (first != last) measure(added, now);
  const std::uint32_t candidate = next_candidate(added, next);
  if (candidate == kDone) return remove_active(first, last);
  if (first == last) {
    active_.insert(active_.begin() + static_cast<std::ptrdiff_t>(first), added);
    candidates_.insert(candidates_.begin() + static_cast<std::ptrdiff_t>(first), candidate);
  } else {
    active_[first] = added;
    candidates_[first] = candidate;
    remove_active(first + 1, last);
  }
}

// One of the two is of jobs like the last one that was looked at, the other of those before.
void ConservativePlan::remember(Active& active, const Told& told) {
  Told& last = active.told[0];
  if (last.processors != told.processors || last.seconds != told.seconds) active.told[1] = last;
  last = told;
}

void ConservativePlan::compress(std::int64_t now) {
  for (;;) {
    std::uint32_t position = kDone;
    for (const std::uint32_t candidate : candidates_) position = std::min(position, candidate);
    if (position == kDone) return;
    const Node job = leaf(position);
    std::int64_t start = job.first_start;
    ++looks_;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i] != position) continue;
      const Gain& gain = active_[i].gain;
      std::int64_t from = std::max({now, gain.begin - job.shortest, active_[i].from});
      for (const Told& told : active_[i].told) {
        if (told.of(job)) from = std::max(from, told.start);
      }
      start = std::min(start, free_.earliest(from, job.narrowest, job.shortest, job.first_start,
                                             std::min(gain.end, start)));
    }
    const bool moves = start < job.first_start;
    const Gain gained = moves ? move(position, start) : Gain{};
    const Told told{job.narrowest, job.shortest, job.first_start, start};
    for (std::size_t i = candidates_.size(); i-- > 0;) {
      if (candidates_[i] != position) continue;
      remember(active_[i], told);
      candidates_[i] = moves && !measure(active_[i], now) ? kDone : next_candidate(active_[i], position + 1);
      if (candidates_[i] == kDone) remove_active(i, i + 1);
    }
    if (moves) add_gain(gained, position + 1, now);
  }
}

// What it left is a gain.
ConservativePlan::Gain ConservativePlan::move(std::uint32_t position, std::int64_t start) {
  Node job = leaf(position);
  const std::int64_t old_start = job.first_start;
  const std::int64_t old_end = old_start + job.shortest;
  const std::int64_t end = start + job.shortest;
  free_.add(start, std::min(end, old_start), -job.narrowest);
  free_.add(std::max(end, old_start), old_end, job.narrowest);
  job.first_start = job.last_start = start;
  set_leaf(position, job);
  ++moves_;
  const Gain gain{std::max(end, old_start), old_end, used_};
  old_gains_.push_back({gain.begin, gain.end, position});
  return gain;
}

}  // namespace minke::sched
