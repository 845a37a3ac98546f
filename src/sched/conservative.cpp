#include "sched/conservative.h"

#include <algorithm>
#include <functional>

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
  gains_.clear();
  for (const Gain& old : old_gains_) {
    if (old.end > now) gains_.push_back({std::max(old.begin, now), old.end, old.limit});
  }
  if (planned_end > now) {
    free_.add(now, planned_end, processors);
    gains_.push_back({now, planned_end, used_});
  }
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
    tree_[node] = {std::min(a.first_start, b.first_start), std::max(a.last_start, b.last_start),
                   std::min(a.shortest, b.shortest), std::min(a.narrowest, b.narrowest)};
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

// The first position from `from` on, below the gain's limit, whose job the gain might move: it is no wider
// than what is free, its place is behind the gain's begin, and either it is short enough to fit before its
// place, or its place begins so close behind that it could slide.
std::optional<std::uint32_t> ConservativePlan::next_candidate(const Gain& gain, const Offer& offer,
                                                              std::uint32_t from) const {
  const auto possible = [&](std::uint32_t index) {
    const Node& node = tree_[index];
    if (node.narrowest > offer.width || node.last_start <= gain.begin) return false;
    return node.first_start <= gain.end ||
           node.shortest <= std::min(offer.until, node.last_start) - offer.from;
  };
  // Upwards from the leaf to the first subtree to the right that may have one, then down; a subtree may
  // disappoint, since its figures may be of different jobs.
  std::uint32_t node = capacity_ + from;
  for (;;) {
    if (possible(node)) {
      if (node >= capacity_) {
        const std::uint32_t position = node - capacity_;
        return position < gain.limit ? std::optional(position) : std::nullopt;
      }
      node *= 2;
      continue;
    }
    while (node & 1) {
      node /= 2;
      if (node <= 1) return std::nullopt;
    }
    ++node;
    if ((node & (node - 1)) == 0) return std::nullopt;  // beyond the right edge
    // The subtree begins at this position.
    std::uint32_t leaf_index = node;
    while (leaf_index < capacity_) leaf_index *= 2;
    if (leaf_index - capacity_ >= gain.limit) return std::nullopt;
  }
}

// ---- compression ----------------------------------------------------------------------------------

void ConservativePlan::look_for_next(std::uint32_t index, std::uint32_t from, std::int64_t now) {
  const Gain& gain = gains_[index];
  if (from >= gain.limit) return;
  const std::int32_t narrowest = tree_[1].narrowest;
  Offer offer;
  offer.width = free_.most_free(gain.begin, gain.end);
  if (offer.width < narrowest) return;  // what grows later is a gain of its own
  offer.from = free_.run_begin(gain.begin, narrowest, now);
  offer.until = free_.first_below(gain.end, narrowest);
  if (const auto position = next_candidate(gain, offer, from)) {
    candidates_.push_back({*position, index});
    std::push_heap(candidates_.begin(), candidates_.end(), std::greater<>());
  }
}

void ConservativePlan::compress(std::int64_t now) {
  old_gains_.clear();
  candidates_.clear();
  if (waiting_ == 0) return;
  for (std::uint32_t i = 0; i < gains_.size(); ++i) look_for_next(i, 0, now);
  std::vector<std::uint32_t> here;
  while (!candidates_.empty()) {
    const std::uint32_t position = candidates_.front().position;
    here.clear();
    while (!candidates_.empty() && candidates_.front().position == position) {
      here.push_back(candidates_.front().gain);
      std::pop_heap(candidates_.begin(), candidates_.end(), std::greater<>());
      candidates_.pop_back();
    }
    const Node job = leaf(position);
    std::int64_t start = job.first_start;
    if (start > now) {
      ++looks_;
      for (const std::uint32_t index : here) {
        const Gain& gain = gains_[index];
        const std::int64_t from = std::max(now, gain.begin - job.shortest);
        if (from >= start) continue;
        start = std::min(start, free_.earliest(from, job.narrowest, job.shortest, job.first_start,
                                               std::min(gain.end, start)));
      }
      if (start < job.first_start) {
        move(position, start);
        here.push_back(static_cast<std::uint32_t>(gains_.size() - 1));
      }
    }
    for (const std::uint32_t index : here) look_for_next(index, position + 1, now);
  }
}

void ConservativePlan::move(std::uint32_t position, std::int64_t start) {
  Node job = leaf(position);
  const std::int64_t old_start = job.first_start;
  const std::int64_t old_end = old_start + job.shortest;
  const std::int64_t end = start + job.shortest;
  free_.add(start, std::min(end, old_start), -job.narrowest);
  free_.add(std::max(end, old_start), old_end, job.narrowest);
  const Gain gain{std::max(end, old_start), old_end, used_};
  gains_.push_back(gain);
  old_gains_.push_back({gain.begin, gain.end, position});
  job.first_start = job.last_start = start;
  set_leaf(position, job);
  ++moves_;
}

}  // namespace minke::sched
