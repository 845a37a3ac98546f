// Whose work is done next: users take turns, by the time that their work has taken so far.
//
// Requests, and the pieces of answers that are made bit by bit, stand in line here. Who has had least time is
// served next, however many connections others have and however much they ask; of one user, what came first.
// A user who was away begins with what the others have had, so that nobody saves up; what he had in excess is
// held against him for some milliseconds of others' work at most.
//
// Work is done from the event loop, and after some milliseconds the loop has its turn. State's thread.
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
  // `clock`: the monotonic one, but in tests.
  explicit Turns(os::EventLoop& loop, Clock clock = {});

  // Never called within add(). What it throws leaves by the event loop; the others' work stays in line.
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
  Time begun_{0};       // what those who are served have had at the least; only grows
  uint64_t served_ = 0;
  bool scheduled_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace minke::engine
