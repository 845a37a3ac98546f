// Arrivals: which job of a trace is submitted next, and when.
//
// Usually that is as in the trace. If dependencies are followed (TraceJob::follows), a job is submitted
// when its think time has passed since the end of the job that it followed; if no think time is known,
// at its own time, but not before that end. Its `submit` in `moved` then has the time. A job that
// follows nothing in the replay keeps its time. Of jobs at one time the first in the trace comes first.
// Owned by one replay.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "sim/trace.h"

namespace minke::sim {

class Arrivals {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  // `moved` has the same jobs if dependencies are followed; else it is empty. `taken`, if given, counts
  // for another thread.
  Arrivals(std::span<const TraceJob> jobs, std::span<TraceJob> moved,
           std::atomic<std::uint64_t>* taken = nullptr)
      : jobs_(jobs), moved_(moved), taken_(taken) {
    if (moved_.empty()) return;
    first_follower_.assign(jobs.size(), kNobody);
    next_follower_.assign(jobs.size(), kNobody);
    ended_.assign(jobs.size(), false);
    for (std::size_t i = jobs.size(); i-- > 0;) {
      if (jobs[i].follows == kNobody) continue;
      next_follower_[i] = first_follower_[jobs[i].follows];
      first_follower_[jobs[i].follows] = static_cast<std::uint32_t>(i);
    }
    skip_followers();
  }

  std::int64_t time() const {
    const std::int64_t own = next_ < jobs_.size() ? jobs_[next_].submit : kNever;
    return later_.empty() ? own : std::min(own, later_.top().first);
  }
  bool any() const { return next_ < jobs_.size() || !later_.empty(); }

  // The next one; there must be any().
  std::uint32_t take() {
    if (taken_ != nullptr) taken_->fetch_add(1, std::memory_order_relaxed);
    const bool own =
        next_ < jobs_.size() && (later_.empty() || std::pair(jobs_[next_].submit, next_) < later_.top());
    if (own) {
      const std::uint32_t job = next_++;
      skip_followers();
      return job;
    }
    const auto [time, job] = later_.top();
    later_.pop();
    moved_[job].submit = time;
    return job;
  }

  // Also called for a job that is not replayed, at the time of its submission.
  void ended(std::uint32_t job, std::int64_t now) {
    if (moved_.empty() || ended_[job]) return;
    ended_[job] = true;
    for (std::uint32_t next = first_follower_[job]; next != kNobody; next = next_follower_[next]) {
      const TraceJob& follower = jobs_[next];
      later_.push({follower.think >= 0 ? now + follower.think : std::max(now, follower.submit), next});
    }
  }

 private:
  using Later = std::pair<std::int64_t, std::uint32_t>;
  void skip_followers() {
    while (!moved_.empty() && next_ < jobs_.size() && jobs_[next_].follows != kNobody) ++next_;
  }

  const std::span<const TraceJob> jobs_;
  const std::span<TraceJob> moved_;
  std::atomic<std::uint64_t>* const taken_;
  std::uint32_t next_ = 0;
  std::vector<std::uint32_t> first_follower_;  // by job
  std::vector<std::uint32_t> next_follower_;   // of the same job
  std::vector<bool> ended_;
  std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
};

}  // namespace minke::sim
