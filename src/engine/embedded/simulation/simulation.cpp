#include "engine/embedded/simulation/simulation.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "api/actions.pb.h"
#include "engine/embedded/state/state.h"
#include "os/log.h"
#include "rpc/messages.pb.h"

namespace minke::engine::simulation {

using namespace model;

namespace {

constexpr int64_t kEpoch = 1'700'000'000;
constexpr std::chrono::hours kPatience{12};  // virtual time in which everything must finish after the faults
constexpr size_t kMostFindings = 20;

}  // namespace

Simulation::Simulation(const std::string& home, SimulationOptions options)
    : options_(options),
      random_(options.seed),
      disk_(home),
      machine_(agenda_, home,
               [this] {
                 return kEpoch + std::chrono::duration_cast<std::chrono::seconds>(agenda_.now()).count();
               }),
      host_(machine_),
      config_(simulated_configuration(home, kCpus)) {
  if (!options_.print) MINKE_CHECK(os::open_log(home + "/minked.log"));
  config_.accounting.associations = config_.accounting.limits = true;
  config_.priority.half_life = 0;  // so that usage can be added up
  most_seconds_between_faults_ = 5 + below(90);
  most_events_between_faults_ = 50 + below(3000);
  host_.delay = [this] { return chance(2) ? milliseconds(5, 500) : milliseconds(0, 4); };
}

Simulation::~Simulation() {
  clients_.clear();
  host_.kill();
  engine_.reset();
}

Simulation::Time Simulation::milliseconds(uint64_t from, uint64_t to) {
  return std::chrono::milliseconds(from + below(to - from + 1));
}

int64_t Simulation::now() const {
  return machine_.now();
}

void Simulation::say(const std::string& what) {
  std::string line = std::to_string(std::chrono::duration<double>(agenda_.now()).count()) + " " + what;
  // The home differs from run to run.
  for (size_t at; (at = line.find(machine_.home())) != std::string::npos;)
    line.replace(at, machine_.home().size(), "HOME");
  for (const char c : line) digest_ = (digest_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  if (options_.print) std::fprintf(stderr, "%s\n", line.c_str());
}

void Simulation::find(const std::string& kind, const std::string& what) {
  say("FOUND " + kind + ": " + what);
  if (findings_.size() < kMostFindings) findings_.push_back({kind, what});
}

std::string Simulation::summary() const {
  uint64_t acknowledged = 0;
  for (const auto& job : jobs_) acknowledged += job->job_id != 0;
  return std::to_string(acknowledged) + " submissions, " + std::to_string(machine_.starts().size()) +
         " starts, " + std::to_string(asked_steps_.size()) + " steps, " + std::to_string(daemon_deaths_) +
         " daemons and " + std::to_string(launcher_deaths_.size()) + " launchers killed, " +
         std::to_string(boots_.size()) + " power cuts, " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(agenda_.now()).count()) +
         " s of virtual time";
}

void Simulation::daemon_later() {
  if (std::exchange(daemon_is_due_, true)) return;
  agenda_.after(milliseconds(50, 5000), [this] {
    daemon_is_due_ = false;
    if (!engine_) start_daemon();
  });
}

void Simulation::start_daemon() {
  Engine::Options options{.config = config_, .boot_id = machine_.boot_id()};
  options.commit_delay = [this] {
    if (slow_) return milliseconds(200, 20000);
    return chance(5) ? milliseconds(5, 300) : milliseconds(0, 5);
  };
  options.message_delay = [this] { return chance(2) ? milliseconds(5, 500) : milliseconds(0, 3); };
  engine_ = std::make_unique<Engine>(agenda_, host_, std::move(options));
  was_ready_ = false;
  if (const Status started = engine_->start(); !started) {
    say("the daemon cannot start: " + started.error().message);
    kill_daemon();
    return;
  }
  say("daemon started");
}

// Like kill -9: written data stays as it is.
void Simulation::kill_daemon() {
  if (!engine_) return;
  say("daemon killed");
  const size_t waiting = engine_->dead() ? 0 : engine_->store().waiting();
  const size_t made = below(waiting + 1);
  engine_->finish_commits(made);
  disk_.set_dead(true);
  engine_->die();
  engine_.reset();
  disk_.set_dead(false);
  ++daemon_deaths_;
  daemon_later();
}

void Simulation::step() {
  while (engine_ && engine_->turn()) {
  }
  check_now();
}

void Simulation::run_until(Time end) {
  for (;;) {
    step();
    if (agenda_.empty() || agenda_.next() > end || findings_.size() >= kMostFindings) return;
    agenda_.step();
    count_event();
  }
}

bool Simulation::drained() const {
  return engine_ && engine_->ready() && host_.launcher && attempts_.empty() &&
         engine_->core().state.jobs().empty() && machine_.processes().empty();
}

void Simulation::restore_order() {
  faults_ = false;
  slow_ = false;
  host_.can_start = true;
  disk_.set_full(false);
  disk_.set_failing(0, 0);
  disk_.set_no_descriptors(false);
  for (auto& [begin, end] : refusals_) end = std::min(end, now());
  say("the faults cease");
}

// Releases now and then what users have held; a hold may also come late. Cancels refused allocations that
// were stored after all: they have no owner any more, which a real daemon would notice.
void Simulation::let_go() {
  if (engine_ && engine_->ready()) {
    for (const auto& [id, job] : engine_->core().state.jobs()) {
      rpc::ClientMessage message;
      if (job->priority == 0) {
        message.mutable_hold()->add_jobs()->set_job_id(id);
        message.mutable_hold()->set_kind(api::HoldRequest::RELEASE);
        ask(message, false, nullptr);
      }
      if (job->submission->interactive && submitted_as(id) == nullptr) {
        message.mutable_complete_allocation()->set_job_id(id);
        ask(message, false, nullptr);
      }
      if (job->state != JOB_SUSPENDED) continue;
      message.mutable_suspend()->add_jobs()->set_job_id(id);
      message.mutable_suspend()->set_resume(true);
      ask(message, false, nullptr);
    }
  }
  constexpr std::chrono::minutes kNext{1};
  agenda_.after(kNext, [this] { let_go(); });
}

// Everything must end after this.
void Simulation::drain() {
  restore_order();
  let_go();
  const Time end = agenda_.now() + kPatience;
  for (;;) {
    step();
    if (drained() || agenda_.next() > end || findings_.size() >= kMostFindings) return;
    agenda_.step();
  }
}

std::vector<Finding> Simulation::run() {
  start_daemon();
  while (!(engine_ && engine_->ready()) && agenda_.step()) step();
  make_accounts();
  while (!attempts_.empty() && agenda_.step()) step();
  schedule_requests();
  schedule_faults();
  events_until_fault_ = 1 + below(most_events_between_faults_);
  run_until(agenda_.now() + std::chrono::seconds(options_.seconds));
  drain();
  if (findings_.size() < kMostFindings) check_end();
  return findings_;
}

}  // namespace minke::engine::simulation
