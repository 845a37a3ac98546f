#include "os/event_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "base/result.h"

namespace minke::os {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds kMostOfBurst{10};

}  // namespace

struct EventLoop::Implementation {
  asio::io_context context{1};  // one thread runs it
  asio::executor_work_guard<asio::io_context::executor_type> guard{context.get_executor()};
  std::vector<std::function<void()>> deferred;
  uint64_t wake_ups = 0;
};

namespace {

// Handlers may outlive the object that set them up, if a callback destroys it, or if a handler is already
// queued: `alive` tells them.
template <typename Source>
struct Subscription {
  template <typename... Arguments>
  explicit Subscription(std::function<void()> work, Arguments&&... arguments)
      : source(std::forward<Arguments>(arguments)...), callback(std::move(work)) {}
  Source source;
  std::function<void()> callback;
  bool alive = true;
};

// Watches a duplicate of the descriptor: reading and writing can be watched side by side, and the
// caller may close its own at any time. While this process has no descriptor to spare, or the kernel no
// room for another watch, it polls the descriptor itself now and then: that costs, but it breaks
// nothing and misses nothing.
class DescriptorWatch : public EventLoop::Watch {
 public:
  DescriptorWatch(asio::io_context& context, int fd, asio::posix::stream_descriptor::wait_type type,
                  std::function<void()> callback)
      : state_(std::make_shared<State>(context, fd, type, std::move(callback))) {
    begin(state_);
  }
  // Released before it is closed: asio relies on the kernel to forget closed descriptors, and the kernel does
  // not while the caller's descriptor of the same file is open. Events then went to the watch that had taken
  // this one's place, and the process of a living owner seemed to have ended.
  ~DescriptorWatch() override {
    state_->alive = false;
    state_->next_try.cancel();
    if (state_->source.is_open()) ::close(state_->source.release());
  }

 private:
  static constexpr std::chrono::milliseconds kBeforeNextTry{20};

  struct State {
    State(asio::io_context& context, int watched, asio::posix::stream_descriptor::wait_type wait_type,
          std::function<void()> work)
        : source(context), next_try(context), fd(watched), type(wait_type), callback(std::move(work)) {}
    asio::posix::stream_descriptor source;
    asio::steady_timer next_try;
    int fd;
    asio::posix::stream_descriptor::wait_type type;
    std::function<void()> callback;
    bool alive = true;
  };

  static void begin(const std::shared_ptr<State>& state) {
    const int duplicate = ::fcntl(state->fd, F_DUPFD_CLOEXEC, 0);
    MINKE_CHECK(duplicate >= 0 || errno == EMFILE || errno == ENFILE || errno == ENOMEM);
    if (duplicate >= 0) {
      boost::system::error_code refused;
      state->source.assign(duplicate, refused);
      if (!refused) return wait(state);
      ::close(duplicate);
    }
    state->next_try.expires_after(kBeforeNextTry);
    state->next_try.async_wait([state](const boost::system::error_code&) {
      if (!state->alive) return;
      const bool reads = state->type == asio::posix::stream_descriptor::wait_read;
      pollfd watched{state->fd, static_cast<short>(reads ? POLLIN : POLLOUT), 0};
      if (::poll(&watched, 1, 0) == 1) state->callback();
      if (state->alive) begin(state);
    });
  }

  static void wait(const std::shared_ptr<State>& state) {
    state->source.async_wait(state->type, [state](const boost::system::error_code& error) {
      if (!state->alive || error == asio::error::operation_aborted) return;
      state->callback();
      if (state->alive) wait(state);
    });
  }
  std::shared_ptr<State> state_;
};

class SignalWatch : public EventLoop::Watch {
 public:
  using State = Subscription<asio::signal_set>;
  SignalWatch(asio::io_context& context, int signal_number, std::function<void()> callback)
      : state_(std::make_shared<State>(std::move(callback), context, signal_number)) {
    wait(state_);
  }
  ~SignalWatch() override {
    state_->alive = false;
    state_->source.cancel();
  }

 private:
  static void wait(const std::shared_ptr<State>& state) {
    state->source.async_wait([state](const boost::system::error_code& error, int) {
      if (!state->alive || error) return;
      state->callback();
      if (state->alive) wait(state);
    });
  }
  std::shared_ptr<State> state_;
};

class TimerImplementation : public EventLoop::Timer {
 public:
  using State = Subscription<asio::steady_timer>;
  TimerImplementation(asio::io_context& context, std::function<void()> callback)
      : state_(std::make_shared<State>(std::move(callback), context)) {}
  ~TimerImplementation() override {
    state_->alive = false;
    state_->source.cancel();
  }
  void set_after(std::chrono::nanoseconds delay) override {
    state_->source.expires_after(delay);
    const uint64_t generation = ++generation_;
    state_->source.async_wait([this, state = state_, generation](const boost::system::error_code& error) {
      // An expiry that was queued before the timer was set again is ignored.
      if (error || !state->alive || generation != generation_) return;
      state->callback();
    });
  }
  void cancel() override {
    ++generation_;
    state_->source.cancel();
  }

 private:
  std::shared_ptr<State> state_;
  uint64_t generation_ = 0;
};

}  // namespace

EventLoop::EventLoop() : implementation_(std::make_unique<Implementation>()) {}
EventLoop::~EventLoop() = default;

void EventLoop::run() {
  asio::io_context& context = implementation_->context;
  while (!context.stopped()) {
    if (context.run_one() == 0) break;
    ++implementation_->wake_ups;
    // Handles everything at hand, then what was deferred. Bounded in number and time, so that a flood cannot
    // delay the deferred work, which sends answers and commits changes.
    const auto until = std::chrono::steady_clock::now() + kMostOfBurst;
    for (int handled = 0;
         handled < 2000 && std::chrono::steady_clock::now() < until && context.poll_one() != 0; ++handled) {
    }
    while (!implementation_->deferred.empty()) {
      for (auto& work : std::exchange(implementation_->deferred, {})) work();
    }
  }
}

void EventLoop::stop() {
  implementation_->context.stop();
}

void EventLoop::post(std::function<void()> work) {
  asio::post(implementation_->context, std::move(work));
}

void EventLoop::defer(std::function<void()> work) {
  // Outside run() nothing would run it: the post makes the loop turn.
  if (implementation_->deferred.empty()) post([] {});
  implementation_->deferred.push_back(std::move(work));
}

std::unique_ptr<EventLoop::Watch> EventLoop::on_readable(int fd, std::function<void()> callback) {
  return std::make_unique<DescriptorWatch>(implementation_->context, fd,
                                           asio::posix::stream_descriptor::wait_read, std::move(callback));
}

std::unique_ptr<EventLoop::Watch> EventLoop::on_writable(int fd, std::function<void()> callback) {
  return std::make_unique<DescriptorWatch>(implementation_->context, fd,
                                           asio::posix::stream_descriptor::wait_write, std::move(callback));
}

std::unique_ptr<EventLoop::Watch> EventLoop::on_signal(int signal_number, std::function<void()> callback) {
  return std::make_unique<SignalWatch>(implementation_->context, signal_number, std::move(callback));
}

std::unique_ptr<EventLoop::Timer> EventLoop::make_timer(std::function<void()> callback) {
  return std::make_unique<TimerImplementation>(implementation_->context, std::move(callback));
}

uint64_t EventLoop::wake_ups() const {
  return implementation_->wake_ups;
}

}  // namespace minke::os
