#include "engine/embedded/server/turns.h"

#include <algorithm>
#include <utility>

namespace minke::engine {

namespace {

constexpr std::chrono::milliseconds kSlice{5};        // then the event loop gets its turn
constexpr std::chrono::milliseconds kMostDebt{20};    // of a user who comes back
constexpr std::chrono::microseconds kLeastCharge{1};  // so that work that takes no time also takes turns
constexpr size_t kManyUsers = 1000;

std::chrono::nanoseconds monotonic() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace

Turns::Turns(os::EventLoop& loop, Clock clock)
    : loop_(loop), clock_(clock ? std::move(clock) : Clock(monotonic)) {}

void Turns::add(uint32_t uid, std::function<void()> work) {
  User& user = users_[uid];
  if (user.waiting.empty()) user.used = std::clamp<Time>(user.used, begun_, begun_ + kMostDebt);
  user.waiting.push_back(std::move(work));
  ++waiting_;
  come_again();
}

void Turns::come_again() {
  if (scheduled_ || waiting_ == 0) return;
  scheduled_ = true;
  loop_.post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    scheduled_ = false;
    do_some();
  });
}

Turns::Users::iterator Turns::next() {
  auto chosen = users_.end();
  for (auto user = users_.begin(); user != users_.end(); ++user) {
    if (user->second.waiting.empty()) continue;
    if (chosen == users_.end() || std::pair(user->second.used, user->second.last_served) <
                                      std::pair(chosen->second.used, chosen->second.last_served))
      chosen = user;
  }
  return chosen;
}

void Turns::do_some() {
  const std::weak_ptr<bool> alive = alive_;
  const Time begin = clock_();
  Time now = begin;
  while (waiting_ > 0 && now - begin < kSlice) {
    const auto user = next();
    begun_ = std::max(begun_, user->second.used);
    const auto work = std::move(user->second.waiting.front());
    user->second.waiting.pop_front();
    --waiting_;
    user->second.last_served = ++served_;
    come_again();  // in case the work throws
    work();
    if (alive.expired()) return;
    const Time done = clock_();
    user->second.used += std::max<Time>(done - now, kLeastCharge);
    now = done;
  }
  if (users_.size() > kManyUsers) forget_old();
}

// Drops users who would start with the same values anyway.
void Turns::forget_old() {
  std::erase_if(
      users_, [&](const auto& entry) { return entry.second.waiting.empty() && entry.second.used <= begun_; });
}

}  // namespace minke::engine
