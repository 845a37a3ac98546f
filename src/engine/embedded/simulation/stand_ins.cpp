// Replacements in every program linked with this library: os::EventLoop in virtual time, the monotonic clock
// with the agenda's time (while there is an agenda), and os::start_detached(), which starts nothing. They are
// in one file, so that the linker takes all of them.
#include "os/event_loop.h"

#include <poll.h>
#include <time.h>

#include <cerrno>
#include <deque>
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/embedded/simulation/programs.h"
#include "engine/embedded/simulation/time.h"
#include "os/detached.h"

namespace minke::os {

using engine::simulation::Agenda;

namespace {

Agenda* current_agenda = nullptr;

struct Entry {
  int fd;
  short events;
  std::function<void()> callback;
  bool alive = true;
};

class SimulatedWatch final : public EventLoop::Watch {
 public:
  explicit SimulatedWatch(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}
  ~SimulatedWatch() override { entry_->alive = false; }

 private:
  std::shared_ptr<Entry> entry_;
};

// An expiry may already be in the loop's queue: a later set or cancel decides.
class SimulatedTimer final : public EventLoop::Timer {
 public:
  SimulatedTimer(EventLoop& loop, Agenda& agenda, std::function<void()> callback)
      : loop_(loop),
        agenda_(agenda),
        state_(std::make_shared<State>(State{std::move(callback), uint64_t{0}})) {}
  void set_after(std::chrono::nanoseconds delay) override {
    agenda_.after(delay, [&loop = loop_, weak = std::weak_ptr(state_), set = ++state_->set] {
      const auto state = weak.lock();
      if (!state || state->set != set) return;
      loop.post([weak, set] {
        const auto still = weak.lock();
        if (still && still->set == set) still->callback();
      });
    });
  }
  void cancel() override { ++state_->set; }

 private:
  struct State {
    std::function<void()> callback;
    uint64_t set;  // how often it has been set or cancelled
  };
  EventLoop& loop_;
  Agenda& agenda_;
  std::shared_ptr<State> state_;
};

}  // namespace

struct EventLoop::Implementation {
  Agenda& agenda;
  std::mutex mutex = {};
  std::deque<std::function<void()>> posted = {};  // guarded by mutex
  std::vector<std::function<void()>> deferred = {};
  std::list<std::shared_ptr<Entry>> watches = {};
  bool stopped = false;
  uint64_t turns = 0;

  std::unique_ptr<Watch> watch(int fd, short events, std::function<void()> callback) {
    watches.push_back(std::make_shared<Entry>(Entry{fd, events, std::move(callback)}));
    return std::make_unique<SimulatedWatch>(watches.back());
  }
  bool do_posted();
  bool look_at_descriptors();
  bool turn();
};

namespace {

// By loop: the function for turn().
std::unordered_map<const EventLoop*, std::function<bool()>>& turns_of_loops() {
  static std::unordered_map<const EventLoop*, std::function<bool()>> turns;
  return turns;
}

}  // namespace

EventLoop::EventLoop() {
  MINKE_CHECK(current_agenda != nullptr);
  implementation_ = std::unique_ptr<Implementation>(new Implementation{*current_agenda});
  turns_of_loops()[this] = [this] { return implementation_->turn(); };
}
EventLoop::~EventLoop() {
  turns_of_loops().erase(this);
}

void EventLoop::run() {
  implementation_->stopped = false;
  do {
    while (!implementation_->stopped && implementation_->turn()) {
    }
  } while (!implementation_->stopped && implementation_->agenda.step());
}
void EventLoop::stop() {
  implementation_->stopped = true;
}
void EventLoop::post(std::function<void()> work) {
  const std::lock_guard lock(implementation_->mutex);
  implementation_->posted.push_back(std::move(work));
}
void EventLoop::defer(std::function<void()> work) {
  implementation_->deferred.push_back(std::move(work));
}
std::unique_ptr<EventLoop::Watch> EventLoop::on_readable(int fd, std::function<void()> callback) {
  return implementation_->watch(fd, POLLIN, std::move(callback));
}
std::unique_ptr<EventLoop::Watch> EventLoop::on_writable(int fd, std::function<void()> callback) {
  return implementation_->watch(fd, POLLOUT, std::move(callback));
}
std::unique_ptr<EventLoop::Watch> EventLoop::on_signal(int, std::function<void()>) {
  return std::make_unique<Watch>();
}
std::unique_ptr<EventLoop::Timer> EventLoop::make_timer(std::function<void()> callback) {
  return std::make_unique<SimulatedTimer>(*this, implementation_->agenda, std::move(callback));
}
uint64_t EventLoop::wake_ups() const {
  return implementation_->turns;
}

namespace {
engine::simulation::StandInForPrograms::Start& program_starter() {
  static engine::simulation::StandInForPrograms::Start starter;
  return starter;
}
}  // namespace

// The calling part of the engine gets an error and goes on without the program.
Result<UniqueFd> start_detached(const DetachedCommand& command) {
  if (program_starter()) return program_starter()(command);
  return failure("no program is started in a simulation", ENOSYS);
}

bool EventLoop::Implementation::turn() {
  bool any = do_posted();
  any |= look_at_descriptors();
  while (!deferred.empty()) {
    any = true;
    for (auto& work : std::exchange(deferred, {})) work();
  }
  turns += any;
  return any;
}

bool EventLoop::Implementation::do_posted() {
  constexpr int kMostAtOnce = 2000;  // like the real loop
  for (int done = 0; done < kMostAtOnce; ++done) {
    std::function<void()> work;
    {
      const std::lock_guard lock(mutex);
      if (posted.empty()) return done > 0;
      work = std::move(posted.front());
      posted.pop_front();
    }
    work();
  }
  return true;
}

bool EventLoop::Implementation::look_at_descriptors() {
  watches.remove_if([](const auto& entry) { return !entry->alive; });
  if (watches.empty()) return false;
  const std::vector<std::shared_ptr<Entry>> entries(watches.begin(), watches.end());
  std::vector<pollfd> asked;
  asked.reserve(entries.size());
  for (const auto& entry : entries) asked.push_back({entry->fd, entry->events, 0});
  if (::poll(asked.data(), asked.size(), 0) <= 0) return false;
  for (size_t i = 0; i < asked.size(); ++i) {
    if (asked[i].revents != 0 && entries[i]->alive) entries[i]->callback();
  }
  return true;
}

}  // namespace minke::os

namespace minke::engine::simulation {

LoopsOn::LoopsOn(Agenda& agenda) : before_(std::exchange(os::current_agenda, &agenda)) {}
LoopsOn::~LoopsOn() {
  os::current_agenda = before_;
}

StandInForPrograms::StandInForPrograms(Start start) {
  os::program_starter() = std::move(start);
}
StandInForPrograms::~StandInForPrograms() {
  os::program_starter() = nullptr;
}

bool turn(os::EventLoop& loop) {
  return os::turns_of_loops().at(&loop)();
}

}  // namespace minke::engine::simulation

// Measurements of durations and waits use the agenda's time.
std::chrono::steady_clock::time_point std::chrono::_V2::steady_clock::now() noexcept {
  if (const auto* agenda = minke::os::current_agenda)
    return time_point(agenda->now() + std::chrono::hours(1));
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}
