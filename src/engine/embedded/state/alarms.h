// Alarms: wakes up jobs at given times: time limits, begin times, the end of KillWait. One timer serves all
// and is set to the earliest; with no alarm no timer is set, so an idle daemon sleeps.
//
// A job has at most one alarm: the next time to look at it. It is no command: its handler checks which times
// have come, and sets the next alarm. Owned by the state's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "os/event_loop.h"

namespace minke::engine {

class Alarms {
 public:
  using Clock = std::function<int64_t()>;  // s since the epoch
  Alarms(os::EventLoop& loop, Clock clock, std::function<void(uint32_t job_id)> on_due);

  void set(uint32_t job_id, int64_t time);  // replaces the job's previous alarm
  void cancel(uint32_t job_id);
  size_t size() const { return due_.size(); }

 private:
  void set_timer();
  void fire();

  Clock clock_;
  std::function<void(uint32_t)> on_due_;
  std::set<std::pair<int64_t, uint32_t>> due_;  // time, job
  std::unordered_map<uint32_t, int64_t> times_;
  int64_t timer_time_ = 0;  // 0: the timer is not set
  std::unique_ptr<os::EventLoop::Timer> timer_;
};

}  // namespace minke::engine
