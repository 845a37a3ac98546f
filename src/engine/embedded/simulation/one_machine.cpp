#include "engine/embedded/simulation/one_machine.h"

#include <future>
#include <limits>
#include <utility>
#include <vector>

#include "api/steps.pb.h"
#include "engine/embedded/state/state.h"
#include "rpc/messages.pb.h"
#include "store/job_row.h"
#include "store/store.h"

namespace minke::engine::simulation {

using namespace model;

OneMachine::OneMachine()
    : machine_(agenda_, home_.path(),
               [this] {
                 return 1'700'000'000 + clock_offset +
                        std::chrono::duration_cast<std::chrono::seconds>(agenda_.now()).count();
               }),
      host_(machine_) {
  start_daemon();
}

OneMachine::~OneMachine() {
  other_clients_.clear();
  client_.reset();
  host_.kill();
  engine_.reset();
}

bool OneMachine::run_until(const std::function<bool()>& condition) {
  const Agenda::Time end = agenda_.now() + std::chrono::hours(1);
  while (!condition()) {
    if (engine_ && engine_->turn()) continue;
    if (agenda_.empty() || agenda_.next() > end) return false;
    agenda_.step();
  }
  return true;
}

void OneMachine::run_for(std::chrono::milliseconds time) {
  bool over = false;
  agenda_.after(time, [&] { over = true; });
  run_until([&] { return over; });
}

void OneMachine::start_daemon() {
  engine_ = std::make_unique<Engine>(agenda_, host_,
                                     Engine::Options{.config = simulated_configuration(home_.path()),
                                                     .boot_id = machine_.boot_id(),
                                                     .commit_delay = [this] { return commit_delay; }});
  MINKE_CHECK(engine_->start().has_value());
  MINKE_CHECK(run_until([this] { return engine_->ready(); }));
  client_ = engine_->connect();
}

void OneMachine::kill_daemon(size_t made) {
  engine_->finish_commits(made);
  disk_.set_dead(true);
  other_clients_.clear();
  client_.reset();
  engine_.reset();
  disk_.set_dead(false);
}

void OneMachine::restart_daemon(Held held) {
  kill_daemon(held == Held::kStored ? std::numeric_limits<size_t>::max() : 0);
  commit_delay = std::chrono::milliseconds(1);
  start_daemon();
}

void OneMachine::cut_power(uint64_t seed) {
  std::mt19937_64 random(seed);
  disk_.set_dead(true);
  host_.kill();
  other_clients_.clear();
  client_.reset();
  engine_.reset();
  disk_.set_dead(false);
  machine_.reboot();
  disk_.cut_power(random);
}

rpc::ServerMessage OneMachine::ask(const rpc::ClientMessage& message) {
  std::optional<rpc::ServerMessage> last;
  client_->ask(message, [&](const rpc::ServerMessage& answer) {
    if (answer.last()) last = answer;
  });
  MINKE_CHECK(run_until([&] { return last.has_value(); }));
  return *last;
}

void OneMachine::send(const rpc::ClientMessage& message) {
  other_clients_.push_back(engine_->connect());
  other_clients_.back()->ask(message, nullptr);
}

uint32_t OneMachine::outcome_of(const rpc::ClientMessage& message) {
  const rpc::ServerMessage answer = ask(message);
  if (answer.has_error()) return answer.error().code();
  return answer.action().failures_size() > 0 ? answer.action().failures(0).code() : 0;
}

uint32_t OneMachine::submit(const std::string& program, const Change& change) {
  rpc::ClientMessage message;
  *message.mutable_submit() = batch_request(std::to_string(++keys_), program, home_.path());
  if (change) change(*message.mutable_submit()->mutable_spec());
  if (message.submit().spec().interactive()) message.mutable_submit()->clear_script();
  return ask(message).submit().job_id();
}

void OneMachine::run_step(uint32_t job_id, const std::string& program) {
  rpc::ClientMessage message;
  api::CreateStepRequest& request = *message.mutable_create_step();
  request.set_key(std::to_string(++keys_));
  request.set_job_id(job_id);
  api::StepSpec& spec = *request.mutable_spec();
  spec.set_name("step");
  spec.add_argv("program " + program);
  spec.set_work_dir(home_.path());
  spec.set_ntasks(1);
  spec.set_overlap(true);
  bool started = false;
  other_clients_.push_back(engine_->connect());
  other_clients_.back()->ask(
      message, [&started](const rpc::ServerMessage& answer) { started = answer.step().has_started(); });
  MINKE_CHECK(run_until([&] { return started; }));
  other_clients_.pop_back();
}

JobRecord OneMachine::record(uint32_t job_id) {
  State& state = engine_->core().state;
  if (const Job* job = state.find(job_id)) return state.record_of(*job);
  const auto stored = engine_->store().job(job_id);
  return stored && *stored ? (*stored)->record : JobRecord();
}

std::vector<store::AccountedJob> OneMachine::accounting() {
  std::vector<store::AccountedJob> all;
  store::AccountingQuery query;
  query.with_steps = query.duplicates = true;
  engine_->store().query(query, [&](auto chunk) {
    if (!chunk) return;
    for (auto& one : *chunk) all.push_back(std::move(one));
  });
  return all;
}

}  // namespace minke::engine::simulation
