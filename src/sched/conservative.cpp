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
  if (jobs_.empty() || !jobs_.back().is_like(processors, seconds, start)) {
    if (jobs_.size() == room_) make_room();
    jobs_.emplace_back(processors, seconds);
    places_.push_back({kNever, Availability::kBegin, seconds, processors});
    if (places_.size() > groups_.size() * kGroup) groups_.emplace_back();
  }
  jobs_.back().append(job, start);
  demand_.add(processors, seconds, start);
  update(static_cast<std::uint32_t>(jobs_.size()) - 1);
  Group& group = groups_.back();
  group.first_start = std::min(group.first_start, start);
  group.last_start = std::max(group.last_start, start);
  next_start_ = std::min(next_start_, start);
  ++waiting_;
  return start;
}

void ConservativePlan::end(std::int32_t processors, std::int64_t planned_end, std::int64_t now) {
  free_.forget_before(now);
  if (planned_end > now) free_.add(now, planned_end, processors);
  if (waiting_ == 0) return;
  if (++ends_ % kRecount == 0) count_demand();
  std::int64_t last_start = now;
  for (const Group& group : groups_) last_start = std::max(last_start, group.last_start);
  gains_.begin_pass(free_, demand_, now, last_start);
  if (planned_end > now) gains_.add({now, planned_end}, processors, free_, demand_, now);
  for (std::uint32_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].last_start <= gains_.first()) continue;
    const std::uint32_t end =
        std::min<std::uint32_t>((group + 1) * kGroup, static_cast<std::uint32_t>(places_.size()));
    has_moved_ = false;
    for (std::uint32_t i = group * kGroup; i < end; ++i) {
      const Place& place = places_[i];
      if (place.last_start <= gains_.first()) continue;
      if (place.first_start < place.last_start || !gains_.openings().empty() ||
          gains_.touch(place.last_start))
        look(i, now);
    }
    if (has_moved_) refresh(group);
  }
  set_next_start();
}

ConservativePlan::Start ConservativePlan::take_started() {
  MINKE_CHECK(waiting_ > 0);
  std::uint32_t group = 0;
  while (groups_[group].first_start != next_start_) ++group;
  std::uint32_t position = group * kGroup;
  while (places_[position].first_start != next_start_) ++position;
  const Start started{jobs_[position].pop(), next_start_};
  update(position);
  refresh(group);
  if (--waiting_ == 0) {
    jobs_.clear();
    places_.clear();
    groups_.clear();
    gains_.clear();
    demand_.forget();
  }
  set_next_start();
  return started;
}

// ---- what is known of the queue -------------------------------------------------------------------

void ConservativePlan::update(std::uint32_t position) {
  const LikeJobs& jobs = jobs_[position];
  Place& place = places_[position];
  place.first_start = jobs.empty() ? kNever : jobs.first();
  place.last_start = jobs.empty() ? Availability::kBegin : jobs.last();
}

void ConservativePlan::refresh(std::uint32_t index) {
  Group group;
  const std::size_t end = std::min<std::size_t>((index + std::size_t{1}) * kGroup, places_.size());
  for (std::size_t i = std::size_t{index} * kGroup; i < end; ++i) {
    group.first_start = std::min(group.first_start, places_[i].first_start);
    group.last_start = std::max(group.last_start, places_[i].last_start);
  }
  groups_[index] = group;
}

void ConservativePlan::set_next_start() {
  next_start_ = kNever;
  for (const Group& group : groups_) next_start_ = std::min(next_start_, group.first_start);
}

void ConservativePlan::count_demand() {
  demand_.forget();
  for (const Place& place : places_)
    if (place.first_start != kNever) demand_.add(place.processors, place.seconds, place.last_start);
}

// All positions are used: those that wait close up.
void ConservativePlan::make_room() {
  std::vector<LikeJobs> kept;
  for (LikeJobs& jobs : jobs_) {
    if (jobs.empty()) continue;
    if (!kept.empty() && kept.back().is_like(jobs.processors(), jobs.seconds(), jobs.first())) {
      kept.back().append(jobs);
    } else {
      kept.push_back(std::move(jobs));
    }
  }
  jobs_ = std::move(kept);
  room_ = std::max<std::size_t>(kGroup, 2 * jobs_.size());
  places_.assign(jobs_.size(), {});
  groups_.assign((jobs_.size() + kGroup - 1) / kGroup, {});
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    places_[i].processors = jobs_[i].processors();
    places_[i].seconds = jobs_[i].seconds();
    update(i);
  }
  for (std::uint32_t i = 0; i < groups_.size(); ++i) refresh(i);
}

// ---- moves ----------------------------------------------------------------------------------------

// Moves jobs of that position until no gain moves one any more.
void ConservativePlan::look(std::uint32_t position, std::int64_t now) {
  const LikeJobs& jobs = jobs_[position];
  if (jobs.size() > 1) {
    std::size_t known = 0;  // gains that move none any more
    if (jobs.size() <= gains_.size()) {
      known = gains_.size();
      while (jump(position, now)) {
      }
      slide(position, now);
    }
    return use_gains(position, known, now);
  }
  const std::int64_t start = jobs.last();
  std::int64_t to = start;
  if (gains_.touch(start)) to = free_.free_since(start, jobs.processors(), now);
  if (!gains_.openings().empty()) to = std::min(to, window(position, now).start);
  if (to < start) move(position, 0, {to, start}, now);
}

// Gain by gain: the jobs are more.
void ConservativePlan::use_gains(std::uint32_t position, std::size_t first, std::int64_t now) {
  const LikeJobs& jobs = jobs_[position];
  for (std::size_t i = first; i < gains_.size(); ++i) {
    const Gains::Gain gain = gains_[i];
    for (std::int64_t from = kNever; gain.begin < jobs.last();) {
      if (from == kNever) from = first_begin(gain, jobs, now);
      const Availability::Window found = search(jobs, from, std::min(gain.end, jobs.last()));
      if (found.start == kNever) break;
      move(position, jobs.first_after(found.start), found, now);
      from = found.start;
    }
  }
}

// Where windows that a gain is part of begin at the earliest: in the gain, or else what is free right before
// it is part of them.
std::int64_t ConservativePlan::first_begin(Gains::Gain gain, const LikeJobs& jobs, std::int64_t now) const {
  const std::int64_t limit = std::max(now, gain.begin - jobs.seconds() + 1);
  return limit < gain.begin ? free_.free_since(gain.begin, jobs.processors(), limit) : gain.begin;
}

Availability::Window ConservativePlan::search(const LikeJobs& jobs, std::int64_t from,
                                              std::int64_t before) const {
  return free_.earliest(from, before, jobs.processors(), jobs.seconds(),
                        [&](std::int64_t time) { return jobs.start(jobs.first_after(time)); });
}

// The first of the windows that a gain is part of.
Availability::Window ConservativePlan::window(std::uint32_t position, std::int64_t now) {
  const LikeJobs& jobs = jobs_[position];
  Availability::Window first{kNever, kNever};
  for (std::size_t i = 0; i < gains_.openings().size();) {
    const Gains::Opening& opening = gains_.openings()[i++];
    if (opening.gain.begin >= std::min(jobs.last(), first.start)) break;
    if (!opening.may_hold(jobs.processors(), jobs.seconds())) continue;
    const std::int64_t before = std::min({opening.gain.end, jobs.last(), first.start});
    const Availability::Window found = search(jobs, first_begin(opening.gain, jobs, now), before);
    if (found.start < first.start) first = found;
    if (found.start == kNever && before == opening.gain.end &&
        !gains_.note_vain(i - 1, jobs.processors(), jobs.seconds(), demand_))
      --i;
  }
  return first;
}

bool ConservativePlan::jump(std::uint32_t position, std::int64_t now) {
  if (gains_.openings().empty()) return false;
  const Availability::Window found = window(position, now);
  if (found.start == kNever) return false;
  move(position, jobs_[position].first_after(found.start), found, now);
  return true;
}

void ConservativePlan::slide(std::uint32_t position, std::int64_t now) {
  const LikeJobs& jobs = jobs_[position];
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::int64_t start = jobs.start(i);
    if (start <= gains_.first() || !gains_.touch(start) || (i > 0 && jobs.start(i - 1) == start)) continue;
    const std::int64_t to = free_.free_since(start, jobs.processors(), now);
    if (to == start) continue;
    const std::size_t first = jobs.first_after(to);
    const std::size_t last = first == i ? end_of_train(jobs, i, start - to) : i;
    if (last > i) {
      slide_train(position, i, last, start - to, now);
      i = last;
      continue;
    }
    const std::int64_t until = free_.free_until(start - 1, to + jobs.seconds(), jobs.processors());
    move(position, first, {to, until}, now);
    i = first;  // those that follow may be able to do the same
  }
}

// Job `first` can slide by so many seconds, and no further. So can the jobs after it of which each begins
// when the one before it ends: that one makes room for just as much, and before that nothing is free.
std::size_t ConservativePlan::end_of_train(const LikeJobs& jobs, std::size_t first, std::int64_t by) const {
  if (by >= jobs.seconds()) return first;
  std::size_t last = first;
  while (last + 1 < jobs.size()) {
    const std::int64_t next = jobs.start(last + 1);
    if (next != jobs.start(last) + jobs.seconds() || free_.free_at(next - by - 1) >= jobs.processors()) break;
    ++last;
  }
  return last;
}

// All of them at once: only before the first and at the end of the last is anything else free than before.
void ConservativePlan::slide_train(std::uint32_t position, std::size_t first, std::size_t last,
                                   std::int64_t by, std::int64_t now) {
  LikeJobs& jobs = jobs_[position];
  const std::int64_t begin = jobs.start(first);
  const std::int64_t end = jobs.start(last) + jobs.seconds();
  jobs.advance(first, last, by);
  update(position);
  has_moved_ = true;
  free_.add(begin - by, begin, -jobs.processors());
  free_.add(end - by, end, jobs.processors());
  gains_.add({end - by, end}, jobs.processors(), free_, demand_, now);
  moves_ += last - first + 1;
}

// Job `first` into that window, and those like it each into the place of the one before it, as long as they
// can follow at once. What the last one leaves is a gain.
void ConservativePlan::move(std::uint32_t position, std::size_t first, Availability::Window window,
                            std::int64_t now) {
  LikeJobs& jobs = jobs_[position];
  const std::int64_t end = window.start + jobs.seconds();
  std::size_t last = jobs.size() - 1;
  if (window.until < end)
    for (last = first; last + 1 < jobs.size() && jobs.start(last + 1) <= window.until;) ++last;
  const std::int64_t left = jobs.start(last);
  jobs.shift(first, last, window.start);
  update(position);
  has_moved_ = true;
  free_.add(window.start, std::min(end, left), -jobs.processors());
  free_.add(std::max(end, left), left + jobs.seconds(), jobs.processors());
  gains_.add({std::max(end, left), left + jobs.seconds()}, jobs.processors(), free_, demand_, now);
  ++moves_;
}

}  // namespace minke::sched
