// The faults and their times.
#include <limits>
#include <utility>

#include "engine/embedded/simulation/simulation.h"

namespace minke::engine::simulation {

// By time and by the number of events, so that faults also
// fall between two related events.
void Simulation::schedule_faults() {
  agenda_.after(milliseconds(10, most_seconds_between_faults_ * 1000), [this] {
    if (!faults_) return;
    fault();
    schedule_faults();
  });
}

void Simulation::count_event() {
  if (!faults_ || events_until_fault_ == 0 || --events_until_fault_ != 0) return;
  fault();
  events_until_fault_ = 1 + below(most_events_between_faults_);
}

void Simulation::power_cut() {
  say("the power goes");
  if (engine_) {
    const size_t waiting = engine_->dead() ? 0 : engine_->store().waiting();
    engine_->finish_commits(below(waiting + 1));
  }
  disk_.set_dead(true);
  host_.kill();
  if (engine_) engine_->die();
  engine_.reset();
  disk_.set_dead(false);
  machine_.reboot();
  disk_.cut_power(random_);
  boots_.push_back(now());
  daemon_later();
}

void Simulation::for_a_while(uint64_t most_seconds, std::function<void()> end) {
  agenda_.after(milliseconds(100, most_seconds * 1000), [this, end = std::move(end)] {
    if (faults_) end();
  });
}

void Simulation::refuse_for_a_while(uint64_t most_seconds, std::function<void()> end) {
  const size_t number = refusals_.size();
  refusals_.emplace_back(now(), std::numeric_limits<int64_t>::max());
  for_a_while(most_seconds, [this, number, end = std::move(end)] {
    refusals_[number].second = now();
    end();
  });
}

void Simulation::kill_launcher() {
  if (!host_.launcher) return;
  say("launcher killed");
  launcher_deaths_.push_back(now());
  host_.kill();
}

void Simulation::fault() {
  std::vector<std::function<void()>> possible;
  const auto may = [&](bool enabled, std::function<void()> what) {
    if (enabled) possible.push_back(std::move(what));
  };
  for (int i = 0; i < 3; ++i) may(options_.kill_daemon, [this] { kill_daemon(); });
  for (int i = 0; i < 2; ++i) may(options_.kill_launcher, [this] { kill_launcher(); });
  may(options_.kill_launcher && options_.kill_daemon, [this] {
    kill_launcher();
    kill_daemon();
  });
  may(options_.kill_launcher, [this] {
    say("no launcher can be started");
    host_.can_start = false;
    for_a_while(30, [this] { host_.can_start = true; });
  });
  may(options_.cut_power, [this] { power_cut(); });
  may(options_.fill_disk, [this] {
    say("the disk is full");
    disk_.set_full(true);
    refuse_for_a_while(40, [this] {
      say("the disk has room again");
      disk_.set_full(false);
    });
  });
  may(options_.fail_disk, [this] {
    say("the disk fails now and then");
    disk_failed_ = true;
    disk_.set_failing(static_cast<uint32_t>(2 + below(30)), random_());
    refuse_for_a_while(20, [this] {
      say("the disk is well again");
      disk_.set_failing(0, 0);
    });
  });
  may(options_.no_descriptors, [this] {
    say("no descriptors are left");
    disk_.set_no_descriptors(true);
    for_a_while(20, [this] {
      say("there are descriptors again");
      disk_.set_no_descriptors(false);
    });
  });
  may(options_.slow_disk, [this] {
    say("the disk is slow");
    slow_ = true;
    for_a_while(60, [this] { slow_ = false; });
  });
  if (!possible.empty()) possible[below(possible.size())]();
}

}  // namespace minke::engine::simulation
