// The event loop of a daemon: readiness of descriptors, timers, signals, and work posted by other threads.
//
// A thin front of Boost.Asio, kept in one source file because Asio's headers are slow to compile.
// Everything but post() and stop() belongs to the thread that calls run(); all callbacks run on it.
// A loop with nothing due sleeps without a timeout: an idle daemon is never woken.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace minke::os {

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  void run();                             // until stop()
  void stop();                            // any thread
  void post(std::function<void()> work);  // any thread; runs once, on the loop's thread, never inside post()

  // Runs `work` once after the events at hand have been handled: the place to react to a burst of changes
  // once. A burst ends after some thousand events, or some milliseconds, however much is at hand.
  void defer(std::function<void()> work);

  // Calls back whenever the descriptor is readable (writable), until the Watch is destroyed, which may happen
  // inside the callback. Level-triggered: unread data is reported again. The descriptor must outlive it.
  class Watch {
   public:
    virtual ~Watch() = default;
  };
  std::unique_ptr<Watch> on_readable(int fd, std::function<void()> callback);
  std::unique_ptr<Watch> on_writable(int fd, std::function<void()> callback);

  // Calls back once per signal delivered (signalfd semantics: coalesced). Keep the Watch.
  std::unique_ptr<Watch> on_signal(int signal_number, std::function<void()> callback);

  // A one-shot timer on the monotonic clock. Setting it again replaces the earlier time.
  class Timer {
   public:
    virtual ~Timer() = default;
    virtual void set_after(std::chrono::nanoseconds delay) = 0;
    virtual void cancel() = 0;
  };
  std::unique_ptr<Timer> make_timer(std::function<void()> callback);

  uint64_t wake_ups() const;  // how often the loop has woken from sleep since run()

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace minke::os
