// The users' requests. As with the commands, a user repeats a request until it is answered,
// with the same key if it has one.
#include <unistd.h>

#include <utility>

#include "api/accounts.pb.h"
#include "api/actions.pb.h"
#include "api/field.pb.h"
#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "api/steps.pb.h"
#include "engine/embedded/accounts/users.h"
#include "engine/embedded/simulation/simulation.h"
#include "model/error.h"
#include "rpc/messages.pb.h"

namespace minke::engine::simulation {

using namespace model;

namespace {

constexpr char kLimited[] = "alpha";  // at most two CPUs at a time
constexpr uint32_t kLimitedCpus = 2;
constexpr char kFree[] = "beta";

void add_account(api::UpdateAccountsRequest& update, const std::string& name, uint32_t cpus) {
  update.add_accounts()->set_name(name);
  AssociationRecord& account = *update.add_associations();
  account.set_account(name);
  account.set_parent_account("root");
  account.set_shares(1);
  if (cpus != 0) {
    Tres& most = *account.mutable_limits()->add_grp_tres();
    most.set_name("cpu");
    most.set_count(cpus);
  }
  AssociationRecord& user = *update.add_associations();
  user.set_account(name);
  user.set_user(user_name_of(::geteuid()));
  user.set_shares(1);
}

}  // namespace

void Simulation::ask(rpc::ClientMessage message, bool again, Answer answer) {
  const uint64_t id = ++next_client_;
  attempts_[id] = [this, id, message = std::move(message), again, answer = std::move(answer),
                   first_sent = int64_t{0}]() mutable {
    std::shared_ptr<Client> client = engine_ ? engine_->connect() : nullptr;
    if (!client) return attempt_later(id);
    clients_[id] = client;
    client->on_lost = [this, id, again] {
      const auto lost = clients_.extract(id);
      again ? attempt_later(id) : (void)attempts_.erase(id);
    };
    message.set_first_sent(first_sent);
    if (first_sent == 0) first_sent = now();
    client->ask(message, [this, id, answer](const rpc::ServerMessage& reply) {
      const Answer told = answer;
      const auto this_client = reply.last() ? clients_.extract(id) : decltype(clients_)::node_type();
      if (reply.last()) attempts_.erase(id);
      if (told) told(reply);
    });
  };
  attempts_.at(id)();
}

void Simulation::attempt_later(uint64_t id) {
  agenda_.after(milliseconds(100, 1500), [this, id] {
    if (const auto found = attempts_.find(id); found != attempts_.end()) found->second();
  });
}

void Simulation::make_accounts() {
  rpc::ClientMessage question;
  question.mutable_query_accounts();
  ask(question, true, [this](const rpc::ServerMessage& tree) {
    rpc::ClientMessage message;
    api::UpdateAccountsRequest& update = *message.mutable_update_accounts();
    update.set_version(tree.accounts().version());
    add_account(update, kLimited, kLimitedCpus);
    add_account(update, kFree, 0);
    account_cpus_[kLimited] = kLimitedCpus;
    ask(message, true, [this](const rpc::ServerMessage& answer) {
      if (answer.has_error())
        find("answer", "accounts: " + answer.error().message() + answer.error().detail());
    });
  });
}

void Simulation::schedule_requests() {
  agenda_.after(chance(20) ? milliseconds(0, 20) : milliseconds(0, 8000), [this] {
    if (!faults_) return;
    chance(60) ? submit() : act_on_some_job();
    schedule_requests();
  });
}

void Simulation::submit() {
  auto job = std::make_shared<Submitted>();
  job->key = std::to_string(1'000'000'000'000'000 + ++next_key_);
  job->cpus = static_cast<uint32_t>(1 + below(3));
  job->account = chance(40) ? kLimited : kFree;
  if (job->account == kLimited) job->cpus = 1;
  job->may_requeue = chance(65);
  job->run = static_cast<int64_t>(chance(30) ? 0 : below(60));
  job->exit_code = chance(80) ? 0 : static_cast<int>(1 + below(3));
  job->interactive = chance(12);
  job->request = batch_request(job->key,
                               "run=" + std::to_string(job->run) + " exit=" + std::to_string(job->exit_code) +
                                   " term=" + std::to_string(chance(70) ? 0 : below(45)),
                               machine_.home());
  JobSpec& spec = *job->request.mutable_spec();
  spec.set_account(job->account);
  spec.set_min_cpus(job->cpus);
  spec.set_ntasks(1);
  spec.set_cpus_per_task(job->cpus);
  if (!job->may_requeue || chance(50)) spec.set_requeue(job->may_requeue);
  if (job->interactive) {
    job->request.clear_script();
    spec.set_interactive(true);
    spec.clear_arguments();
    job->may_requeue = false;
  } else if (chance(25)) {
    IndexRange& range = *spec.mutable_array()->add_ranges();
    range.set_first(0);
    range.set_last(static_cast<uint32_t>(1 + below(chance(20) ? 60 : 8)));
    range.set_step(1);
    job->tasks = range.last() + 1;
    if (chance(30)) spec.mutable_array()->set_max_running(static_cast<uint32_t>(1 + below(4)));
  }
  if (chance(5)) spec.set_hold(true);
  if (chance(5)) spec.set_begin_time(now() + static_cast<int64_t>(below(120)));
  if (const auto other = some_job(); other && chance(15)) {
    Dependency& dependency = *spec.add_dependencies();
    dependency.set_type(chance(50) ? AFTER_ANY : AFTER);
    dependency.set_job_id(other->job_id);
    job->depends = true;
  }
  jobs_.push_back(job);
  send(job);
}

void Simulation::send(const std::shared_ptr<Submitted>& job) {
  rpc::ClientMessage message;
  *message.mutable_submit() = job->request;
  ask(message, true, [this, job](const rpc::ServerMessage& answer) { acknowledged(job, answer); });
}

void Simulation::acknowledged(const std::shared_ptr<Submitted>& job, const rpc::ServerMessage& answer) {
  if (answer.has_error()) {
    say("refused: " + answer.error().message() + ": " + answer.error().detail());
    job->refused = true;
    if (answer.error().code() != kWritingToFile && !job->depends)
      find("answer", "a submission: " + answer.error().message() + " " + answer.error().detail());
    return;
  }
  job->job_id = answer.submit().job_id();
  say("job " + std::to_string(job->job_id) + " submitted: " + job->account + ", " +
      std::to_string(job->tasks) + " tasks, " + std::to_string(job->cpus) + " CPUs, " +
      std::to_string(job->run) + " s" + (job->may_requeue ? "" : ", --no-requeue") +
      (job->interactive ? ", interactive" : ""));
  if (job->interactive) use_allocation(job);
}

// Like salloc: after the start it runs some steps one after the other, then it is given back.
void Simulation::use_allocation(const std::shared_ptr<Submitted>& job) {
  rpc::ClientMessage wait;
  wait.mutable_wait_job()->set_job_id(job->job_id);
  wait.mutable_wait_job()->set_until(api::WaitJobRequest::STARTED);
  ask(wait, true, [this, job](const rpc::ServerMessage& answer) {
    if (!answer.last()) return;
    run_steps(job, answer.has_error() ? 0 : below(6));
  });
}

void Simulation::run_steps(const std::shared_ptr<Submitted>& job, uint64_t left) {
  if (left > 0)
    return run_step(job, std::to_string(2'000'000'000'000'000 + ++next_key_),
                    [this, job, left] { run_steps(job, left - 1); });
  job->leaving = true;
  rpc::ClientMessage back;
  back.mutable_complete_allocation()->set_job_id(job->job_id);
  back.mutable_complete_allocation()->set_status(0);
  // A change that was not stored is not done. (A real owner would end, and the daemon would notice.)
  ask(back, true, [this, job](const rpc::ServerMessage& answer) {
    const auto& failures = answer.action().failures();
    if (!failures.empty() && failures[0].job_id() == 0)
      agenda_.after(std::chrono::seconds(1), [this, job] { run_steps(job, 0); });
  });
}

void Simulation::run_step(const std::shared_ptr<Submitted>& job, const std::string& key,
                          std::function<void()> then) {
  const auto step = asked_steps_.emplace_back(std::make_shared<Step>());
  step->key = key;
  step->job_id = job->job_id;
  rpc::ClientMessage message;
  api::CreateStepRequest& request = *message.mutable_create_step();
  request.set_key(key);
  request.set_job_id(job->job_id);
  api::StepSpec& spec = *request.mutable_spec();
  spec.set_name("step");
  spec.add_argv("program run=" + std::to_string(below(8)));
  spec.set_environment(job->request.environment());
  spec.set_work_dir(machine_.home());
  spec.set_ntasks(1);
  spec.set_overlap(true);
  const auto ended = std::make_shared<bool>(false);
  ask(message, true, [this, job, step, then, ended](const rpc::ServerMessage& answer) {
    if (answer.has_step() && answer.step().has_started()) {
      const StepRecord& record = answer.step().started().step();
      if (!step->started)
        say("step " + std::to_string(record.job_id()) + "." + std::to_string(record.step_id()) + " started");
      step->started = true;
      step->boot = machine_.boot();
      step->run = record.restarts();
      step->step_id = answer.step().started().step_id();
    }
    if (answer.has_step() && answer.step().has_ended()) step->ended = true;
    if (answer.last() && !std::exchange(*ended, true)) then();
  });
}

std::shared_ptr<Simulation::Submitted> Simulation::some_job() {
  if (jobs_.empty()) return nullptr;
  // Usually one of the last jobs, which may still exist.
  const size_t back = static_cast<size_t>(below(std::min<uint64_t>(jobs_.size(), chance(80) ? 10 : 1000)));
  const auto& job = jobs_[jobs_.size() - 1 - back];
  return job->job_id == 0 ? nullptr : job;
}

void Simulation::act_on_some_job() {
  const auto job = some_job();
  if (!job) return;
  rpc::ClientMessage message;
  api::JobSelector selector;
  selector.set_job_id(job->job_id);
  const std::string name = "job " + std::to_string(job->job_id);
  switch (below(9)) {
    case 0:
      say("cancel " + name);
      job->touched = job->leaving = true;
      *message.mutable_signal()->mutable_filter()->add_jobs() = selector;
      break;
    case 1:
      say("hold " + name);
      *message.mutable_hold()->add_jobs() = selector;
      message.mutable_hold()->set_kind(api::HoldRequest::USER_HOLD);
      break;
    case 2:
      *message.mutable_hold()->add_jobs() = selector;
      message.mutable_hold()->set_kind(api::HoldRequest::RELEASE);
      break;
    case 3:
      if (!job->may_requeue) return;
      say("requeue " + name);
      job->touched = true;
      *message.mutable_requeue()->add_jobs() = selector;
      break;
    case 4:
      say("suspend " + name);
      job->touched = true;
      *message.mutable_suspend()->add_jobs() = selector;
      break;
    case 5:
      *message.mutable_suspend()->add_jobs() = selector;
      message.mutable_suspend()->set_resume(true);
      break;
    case 6: {
      *message.mutable_update_job()->mutable_job() = selector;
      api::Field& field = *message.mutable_update_job()->add_fields();
      field.set_name("Comment");
      field.set_value("changed");
      break;
    }
    default:
      if (job->tasks > 1) return;
      return run_step(job, std::to_string(2'000'000'000'000'000 + ++next_key_), [] {});
  }
  ask(message, true, nullptr);
}

}  // namespace minke::engine::simulation
