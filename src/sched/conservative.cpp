#include "sched/conservative.h"

#include <algorithm>

#include "base/result.h"

namespace minke::sched {

std::int64_t ConservativePlan::submit(JobKey job, std::int32_t processors, std::int64_t seconds,
                                      std::int64_t now) {
  free_.forget_before(now);
  const std::int64_t start = free_.earliest(now, processors, seconds);
  MINKE_CHECK(start < Availability::kEnd);  // else more processors than there are
  free_.add(start, start + seconds, -processors);
  if (used_ == 0 || !jobs_[used_ - 1].is_like(processors, seconds, start)) {
    if (used_ == capacity_) make_room();
    jobs_[used_++] = LikeJobs(processors, seconds);
  }
  jobs_[used_ - 1].append(job, start);
  update(used_ - 1);
  ++waiting_;
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
  const std::int64_t time = tree_[node].first_start;
  const Start started{jobs_[position].pop(), time};
  update(position);
  if (--waiting_ == 0) {
    used_ = 0;
    old_gains_.clear();
  }
  return started;
}

// ---- the tree over the queue ----------------------------------------------------------------------

void ConservativePlan::update(std::uint32_t position) {
  std::uint32_t node = capacity_ + position;
  const LikeJobs& jobs = jobs_[position];
  tree_[node] = jobs.empty() ? Node{} : Node{jobs.first(), jobs.last(), jobs.seconds(), jobs.processors()};
  while ((node /= 2) > 0) {
    const Node before = tree_[node];
    join_children(node);
    if (tree_[node] == before) return;
  }
}

void ConservativePlan::join_children(std::uint32_t node) {
  const Node& a = tree_[node * 2];
  const Node& b = tree_[node * 2 + 1];
  tree_[node] = {std::min(a.first_start, b.first_start), std::max(a.last_start, b.last_start),
                 std::min(a.shortest, b.shortest), std::min(a.narrowest, b.narrowest)};
}

// All positions are used: those that wait close up, and half of the room is free again.
void ConservativePlan::make_room() {
  std::vector<LikeJobs> kept;
  std::vector<std::uint32_t> new_limit(used_ + 1);
  for (std::uint32_t i = 0; i < used_; ++i) {
    new_limit[i] = static_cast<std::uint32_t>(kept.size());
    LikeJobs& jobs = jobs_[i];
    if (jobs.empty()) continue;
    if (!kept.empty() && kept.back().is_like(jobs.processors(), jobs.seconds(), jobs.first())) {
      kept.back().append(jobs);
    } else {
      kept.push_back(std::move(jobs));
    }
  }
  new_limit[used_] = static_cast<std::uint32_t>(kept.size());
  for (Gain& gain : old_gains_) gain.limit = new_limit[gain.limit];
  used_ = static_cast<std::uint32_t>(kept.size());
  capacity_ = 64;
  while (capacity_ < 2 * kept.size()) capacity_ *= 2;
  jobs_ = std::move(kept);
  jobs_.resize(capacity_);
  tree_.assign(std::size_t{2} * capacity_, {});
  for (std::uint32_t i = 0; i < used_; ++i) {
    const LikeJobs& jobs = jobs_[i];
    tree_[capacity_ + i] = {jobs.first(), jobs.last(), jobs.seconds(), jobs.processors()};
  }
  for (std::uint32_t i = capacity_ - 1; i > 0; --i) join_children(i);
}

// Whether one of the jobs below may be moved by the gain: it is no wider than what is free, its place is
// behind the gain's begin, and either it is short enough to fit before its place, or its place begins so
// close behind that it could slide.
bool ConservativePlan::possible(std::uint32_t index, const Active& active) const {
  const Node& node = tree_[index];
  const Gain& gain = active.gain;
  if (node.narrowest > active.width || node.last_start <= gain.begin) return false;
  std::int64_t first_start = node.first_start;
  if (first_start <= gain.begin && index >= capacity_)
    first_start = jobs_[index - capacity_].start(jobs_[index - capacity_].first_after(gain.begin));
  for (const Told& told : active.told)
    if (told.start >= gain.end && told.of(node, first_start)) return false;
  return first_start <= gain.end || node.shortest <= std::min(active.until, node.last_start) - active.from;
}

// The first position from `next` on, below the gain's limit, whose jobs the gain might move.
std::uint32_t ConservativePlan::next_candidate(const Active& active, std::uint32_t next) const {
  const std::uint32_t limit = active.gain.limit;
  if (next >= limit) return kDone;
  // Upwards from the leaf to the first subtree to the right that may have one, then down; a subtree may
  // disappoint, since its figures may be of different jobs.
  std::uint32_t node = capacity_ + next;
  for (;;) {
    if (possible(node, active)) {
      if (node >= capacity_) return node - capacity_ < limit ? node - capacity_ : kDone;
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

void ConservativePlan::compress(std::int64_t now) {
  for (;;) {
    std::size_t index = 0;
    for (std::size_t i = 1; i < candidates_.size(); ++i)
      if (candidates_[i] < candidates_[index]) index = i;
    if (candidates_.empty()) return;
    Active& active = active_[index];
    const std::uint32_t position = candidates_[index];
    new_gains_.clear();
    look(position, active, now);
    const bool usable = new_gains_.empty() || measure(active, now);
    candidates_[index] = usable ? next_candidate(active, position + 1) : kDone;
    if (candidates_[index] == kDone) remove_active(index, index + 1);
    for (const Gain& gain : new_gains_) {
      add_gain(gain, position, now);
      old_gains_.push_back({gain.begin, gain.end, position});
    }
  }
}

// Moves jobs of that position until the gain moves none any more.
void ConservativePlan::look(std::uint32_t position, Active& active, std::int64_t now) {
  const LikeJobs& jobs = jobs_[position];
  const Gain& gain = active.gain;
  if (jobs.last() <= gain.begin) return;
  ++looks_;
  std::int64_t from = std::max({now, gain.begin - jobs.seconds(), active.from});
  Told told{jobs.processors(), jobs.seconds(), Availability::kBegin, 0};
  const std::int64_t first_start = jobs.start(jobs.first_after(gain.begin));
  for (const Told& known : active.told) {
    if (!known.of(tree_[capacity_ + position], first_start) || known.start <= from) continue;
    from = known.start;
    told.planned = std::max(told.planned, known.planned);
  }
  for (std::size_t first = 0;;) {
    const std::int64_t before = std::min(gain.end, jobs.last());
    const Availability::Window window =
        free_.earliest(from, before, jobs.processors(), jobs.seconds(), [&](std::int64_t time) {
          first = jobs.first_after(time);
          const std::int64_t planned = jobs.start(first);
          told.planned = std::max(told.planned, planned);
          return planned;
        });
    told.start = std::min(window.start, before);
    if (window.start == Availability::kEnd) break;
    move(position, first, window);
    from = window.start;
  }
  // One of the two is of jobs like the last ones that were looked at, the other of those before.
  Told& last = active.told[0];
  if (last.processors != told.processors || last.seconds != told.seconds) active.told[1] = last;
  last = told;
}

// Job `first` into that window, and those like it each into the place of the one before it, as long as they
// can follow at once. What the last one leaves is a gain.
void ConservativePlan::move(std::uint32_t position, std::size_t first, Availability::Window window) {
  LikeJobs& jobs = jobs_[position];
  const std::int64_t end = window.start + jobs.seconds();
  std::size_t last = jobs.size() - 1;
  if (window.until < end)
    for (last = first; last + 1 < jobs.size() && jobs.start(last + 1) <= window.until;) ++last;
  const std::int64_t left = jobs.start(last);
  jobs.shift(first, last, window.start);
  update(position);
  free_.add(window.start, std::min(end, left), -jobs.processors());
  free_.add(std::max(end, left), left + jobs.seconds(), jobs.processors());
  new_gains_.push_back({std::max(end, left), left + jobs.seconds(), used_});
  ++moves_;
}

}  // namespace minke::sched
