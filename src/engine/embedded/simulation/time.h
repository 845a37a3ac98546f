// Virtual time.
//
// Agenda: what happens at which time. Time stands still while something is done, and jumps to the next event
// when nothing is left to do now; events of one time happen in the order in which they were noted. So a run
// depends on nothing but what it is given, and an hour takes no longer than what happens in it.
//
// Whatever is linked with this library has os::EventLoop in virtual time (stand_ins.cpp): what is posted and
// deferred runs in turn(), timers are events of the agenda, descriptors are looked at in each turn, signals
// never come. One thread, but for post().
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "os/event_loop.h"

namespace minke::engine::simulation {

class Agenda {
 public:
  using Time = std::chrono::nanoseconds;  // since the agenda began

  Time now() const { return now_; }
  void at(Time time, std::function<void()> event) {
    events_.emplace(std::pair{std::max(time, now_), ++noted_}, std::move(event));
  }
  void after(Time delay, std::function<void()> event) { at(now_ + delay, std::move(event)); }

  bool empty() const { return events_.empty(); }
  Time next() const { return events_.begin()->first.first; }  // must not be empty
  // Moves the time to the next event, and lets it happen. False: there is none.
  bool step() {
    if (events_.empty()) return false;
    auto event = events_.extract(events_.begin());
    now_ = event.key().first;
    event.mapped()();
    return true;
  }

 private:
  std::map<std::pair<Time, uint64_t>, std::function<void()>> events_;
  Time now_{0};
  uint64_t noted_ = 0;
};

// Event loops that are made while it lives have this agenda. It is needed before any is.
class LoopsOn {
 public:
  explicit LoopsOn(Agenda& agenda);
  ~LoopsOn();
  LoopsOn(const LoopsOn&) = delete;
  LoopsOn& operator=(const LoopsOn&) = delete;

 private:
  Agenda* before_;
};

// Does what is at hand on the loop, then what was deferred. False: nothing was.
bool turn(os::EventLoop& loop);

}  // namespace minke::engine::simulation
