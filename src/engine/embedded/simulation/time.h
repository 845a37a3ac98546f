// Virtual time.
//
// Agenda: a schedule of events. Time stands still while code runs, and jumps to the next event when nothing
// is left to do now. Events at the same time run in the order in which they were added. So a run depends only
// on its input, and an hour takes no longer than the events in it.
//
// A program that links this library has os::EventLoop in virtual time (stand_ins.cpp): posted and deferred
// work runs in turn(), timers are events of the agenda, descriptors are checked in each turn, and signals
// never come. One thread, except for post().
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
  Time next() const { return events_.begin()->first.first; }  // requires that it is not empty
  // Moves the time to the next event and runs it. False: there is none.
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

// Event loops that are made while it lives use this agenda. It must exist before any event loop.
class LoopsOn {
 public:
  explicit LoopsOn(Agenda& agenda);
  ~LoopsOn();
  LoopsOn(const LoopsOn&) = delete;
  LoopsOn& operator=(const LoopsOn&) = delete;

 private:
  Agenda* before_;
};

// Runs the work that is ready on the loop, then the deferred work. False: there was none.
bool turn(os::EventLoop& loop);

}  // namespace minke::engine::simulation
