#include "engine/embedded/state/alarms.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace minke::engine {

Alarms::Alarms(os::EventLoop& loop, Clock clock, std::function<void(uint32_t)> on_due)
    : clock_(std::move(clock)), on_due_(std::move(on_due)), timer_(loop.make_timer([this] { fire(); })) {}

void Alarms::set(uint32_t job_id, int64_t time) {
  const auto known = times_.find(job_id);
  if (known != times_.end()) {
    if (known->second == time) return;
    due_.erase({known->second, job_id});
    known->second = time;
  } else {
    times_.emplace(job_id, time);
  }
  due_.emplace(time, job_id);
  set_timer();
}

void Alarms::cancel(uint32_t job_id) {
  const auto known = times_.find(job_id);
  if (known == times_.end()) return;
  due_.erase({known->second, job_id});
  times_.erase(known);
  set_timer();
}

void Alarms::set_timer() {
  if (due_.empty()) {
    if (std::exchange(timer_time_, 0) != 0) timer_->cancel();
    return;
  }
  const int64_t earliest = due_.begin()->first;
  if (earliest == timer_time_) return;
  timer_time_ = earliest;
  // Waits at most an hour, so that no alarm is later than that if the clock is set or the machine sleeps.
  const int64_t wait = std::clamp<int64_t>(earliest - clock_(), 0, 3600);
  timer_->set_after(std::chrono::seconds(wait) + std::chrono::milliseconds(wait == 0 ? 0 : 5));
}

void Alarms::fire() {
  timer_time_ = 0;
  const int64_t now = clock_();
  std::vector<uint32_t> jobs;
  while (!due_.empty() && due_.begin()->first <= now) {
    jobs.push_back(due_.begin()->second);
    times_.erase(due_.begin()->second);
    due_.erase(due_.begin());
  }
  for (const uint32_t job : jobs) on_due_(job);
  set_timer();
}

}  // namespace minke::engine
