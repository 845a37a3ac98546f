// Turns: decides whose work is done next. Users take turns by the time that their work has taken so far.
//
// Requests and pieces of long answers wait here. The user with the least time so far is served next, however
// many connections and requests other users have; one user's work is done in order. A user who was away
// starts with the least time of the others, so that nobody saves up time. Excess time counts against a user
// for at most some milliseconds of others' work.
//
// Work runs from the event loop, and after some milliseconds the loop gets its turn. State's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "os/event_loop.h"

namespace minke::engine {

class Turns {
 public:
  using Clock = std::function<std::chrono::nanoseconds()>;
  // `clock`: the monotonic clock, except in tests.
  explicit Turns(os::EventLoop& loop, Clock clock = {});

  // Never runs `work` inside the call. An exception leaves through the event loop; other work stays queued.
  void add(uint32_t uid, std::function<void()> work);

 private:
  using Time = std::chrono::nanoseconds;
  struct User {
    std::deque<std::function<void()>> waiting;
    Time used{0};
    uint64_t last_served = 0;
  };
  using Users = std::map<uint32_t, User>;
  Users::iterator next();
  void do_some();
  void come_again();
  void forget_old();

  os::EventLoop& loop_;
  Clock clock_;
  Users users_;
  size_t waiting_ = 0;  // of all users
  Time begun_{0};       // least time of the users who are served; only grows
  uint64_t served_ = 0;
  bool scheduled_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace minke::engine
