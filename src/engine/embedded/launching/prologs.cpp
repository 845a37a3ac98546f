#include "engine/embedded/launching/prologs.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "api/field.pb.h"
#include "api/updates.pb.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/confining.h"
#include "engine/embedded/launching/launching.h"
#include "engine/embedded/launching/prologs.pb.h"
#include "engine/embedded/scheduling/nodes.h"
#include "environment/prolog_environment.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "os/log.h"
#include "store/loaded_rows.h"
#include "store/tables.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr uint64_t kPlacesOfJob = 1U << 20;  // part of a lock's number

bool contains(const auto& list, const std::string& node) {
  return std::find(list.begin(), list.end(), node) != list.end();
}

}  // namespace

Prologs::Prologs(Core& core) : core_(core), runs_(core.loop, core.config.home) {}

void Prologs::restore(store::LoadedRows& rows) {
  for (PrologProgress& progress : rows.read(store::kPrologs))
    jobs_[progress.job_id()].progress = std::move(progress);
}

void Prologs::go_on() {
  std::vector<uint32_t> ids;
  for (const auto& [id, of] : jobs_) ids.push_back(id);
  for (const uint32_t id : ids) {
    Job* job = core_.state.find(id);
    Of& mine = jobs_.at(id);
    if (job == nullptr || job->restarts != mine.progress.run() || !job->holds_nodes()) {
      forget(id);
    } else if (mine.progress.ending() && mine.running == 0) {
      job->need_details().requeue_when_ended = mine.progress.requeue();
      run_epilogs(*job);
    }
  }
}

Prologs::Of* Prologs::find(const Job& job) {
  const auto found = jobs_.find(job.id);
  return found == jobs_.end() || found->second.progress.run() != job.restarts ? nullptr : &found->second;
}

const Prologs::Of* Prologs::find(const Job& job) const {
  const auto found = jobs_.find(job.id);
  return found == jobs_.end() || found->second.progress.run() != job.restarts ? nullptr : &found->second;
}

Prologs::Of& Prologs::of(const Job& job) {
  if (Of* known = find(job)) return *known;
  Of& made = jobs_[job.id] = Of();
  made.progress.set_job_id(job.id);
  made.progress.set_run(job.restarts);
  return made;
}

void Prologs::keep(const Of& of) {
  core_.committer.row_changed(store::kPrologs.row(of.progress));
}

void Prologs::forget(uint32_t job_id) {
  jobs_.erase(job_id);
  core_.committer.row_changed(store::kPrologs.no_row(job_id));
}

// ---- before a job -----------------------------------------------------------------------------------

std::vector<std::string> Prologs::first_nodes(const Job& job) const {
  std::vector<std::string> names;
  const config::PrologConfiguration& config = core_.config.prologs;
  if (config.prolog.empty() || !job.details || job.details->nodes.empty()) return names;
  if (config.at_allocation) {
    for (const NodeAllocation& node : job.details->nodes) names.push_back(node.node());
  } else if (job.has_script()) {
    names.push_back(job.details->nodes.Get(job.details->script_node).node());
  }
  const Of* mine = find(job);
  if (mine != nullptr)
    std::erase_if(names,
                  [&](const std::string& name) { return contains(mine->progress.nodes_done(), name); });
  return names;
}

bool Prologs::wants_start(const Job& job) const {
  const Of* mine = find(job);
  const bool slurmctld =
      !core_.config.prologs.prolog_slurmctld.empty() && (mine == nullptr || !mine->progress.slurmctld_done());
  return slurmctld || !first_nodes(job).empty();
}

bool Prologs::holds_back(const Job& job) const {
  const Of* mine = find(job);
  return mine != nullptr && mine->starting;
}

bool Prologs::waits_for_components(const Job& job) const {
  if (!job.is_het_leader() || jobs_.empty()) return false;
  const std::vector<Job*> components = core_.state.components(job);
  return std::any_of(components.begin(), components.end(),
                     [&](const Job* one) { return one->id != job.id && holds_back(*one); });
}

void Prologs::begin(Job& job) {
  of(job).starting = false;
  if (job.reason == WAIT_PROLOG) {
    job.reason = WAIT_NO_REASON;
    core_.committer.job_changed(job.id);
  }
  core_.run_events.tell(&RunListener::prologs_over, job);
  if (job.het_job_id == 0 || job.is_het_leader()) return;
  if (const Job* leader = core_.state.find(job.het_job_id)) go_on_starting(leader->id, leader->restarts);
}

void Prologs::before_job(Job& job) {
  if (!wants_start(job) && !waits_for_components(job))
    return core_.run_events.tell(&RunListener::prologs_over, job);
  Of& mine = of(job);
  if (mine.starting) return;
  mine.starting = true;
  job.configuring = !core_.config.prologs.prolog_slurmctld.empty() && !mine.progress.slurmctld_done();
  job.reason = core_.config.prologs.at_allocation && !job.configuring ? WAIT_PROLOG : WAIT_NO_REASON;
  // So that after a crash the next daemon knows that the job has nodes, whatever ran there.
  core_.committer.job_changed(job.id);
  core_.committer.when_durable([this, id = job.id, run = job.restarts] { go_on_starting(id, run); });
}

void Prologs::go_on_starting(uint32_t job_id, uint32_t run_number) {
  Job* job = core_.state.find(job_id);
  if (job == nullptr || job->restarts != run_number || job->completing || !holds_back(*job)) return;
  Of& mine = of(*job);
  const config::PrologConfiguration& config = core_.config.prologs;
  if (!config.prolog_slurmctld.empty() && !mine.progress.slurmctld_done()) {
    if (mine.running > 0) return;
    return run(*job, config.prolog_slurmctld, environment::kPrologSlurmctld, "",
               [this, job_id, run_number](const PrologOutcome& outcome) {
                 prolog_slurmctld_ended(job_id, run_number, outcome);
               });
  }
  const std::vector<std::string> nodes = first_nodes(*job);
  if (nodes.empty() && !waits_for_components(*job)) return begin(*job);
  for (const std::string& node : nodes)
    if (!mine.begun.contains(node)) run_prolog(*job, node);
}

void Prologs::prolog_slurmctld_ended(uint32_t job_id, uint32_t run_number, const PrologOutcome& outcome) {
  Job* job = core_.state.find(job_id);
  Of* mine = job == nullptr || job->restarts != run_number ? nullptr : find(*job);
  if (mine == nullptr) return;
  --mine->running;
  job->configuring = false;
  if (core_.config.prologs.at_allocation) job->reason = WAIT_PROLOG;
  core_.committer.job_changed(job_id);
  if (outcome.status() != 0) {
    mine->progress.set_without_nodes(true);
    prolog_failed(*job, false);
  } else {
    mine->progress.set_slurmctld_done(true);
  }
  // A job that was stopped meanwhile may be gone now.
  job = core_.state.find(job_id);
  if (job == nullptr || (mine = find(*job)) == nullptr) return;
  keep(*mine);
  if (mine->progress.ending()) return run_epilogs(*job);
  core_.committer.when_durable([this, job_id, run_number] { go_on_starting(job_id, run_number); });
}

void Prologs::run_prolog(const Job& job, const std::string& node) {
  of(job).begun.insert(node);
  run(job, core_.config.prologs.prolog, environment::kProlog, node,
      [this, id = job.id, run_number = job.restarts, node](const PrologOutcome& outcome) {
        prolog_ended(id, run_number, node, outcome);
      });
}

void Prologs::prolog_ended(uint32_t job_id, uint32_t run_number, const std::string& node,
                           const PrologOutcome& outcome) {
  Job* job = core_.state.find(job_id);
  Of* mine = job == nullptr || job->restarts != run_number ? nullptr : find(*job);
  if (mine == nullptr) return;
  --mine->running;
  mine->begun.erase(node);
  if (outcome.status() != 0) {
    if (!outcome.too_long()) drain(node, "Prolog error");
    mine->failed = true;
    prolog_failed(*job, core_.config.prologs.hold_when_failed || outcome.too_long());
    job = core_.state.find(job_id);
    if (job == nullptr || (mine = find(*job)) == nullptr) return;
  } else {
    mine->progress.add_nodes_done(node);
    keep(*mine);
  }
  if (mine->progress.ending()) return run_epilogs(*job);
  // A success is durable before its consequences run.
  core_.committer.when_durable([this, job_id, run_number] {
    go_on_starting(job_id, run_number);
    if (Job* found = core_.state.find(job_id); found != nullptr && found->restarts == run_number)
      settle_steps(*found);
  });
}

void Prologs::prolog_failed(Job& job, bool hold) {
  Of& mine = of(job);
  const bool launched = !mine.starting;
  mine.starting = false;
  core_.run_events.tell(&RunListener::prolog_failed, job, launched, hold);
}

// ---- before a step ----------------------------------------------------------------------------------

void Prologs::before_step(Job& job, const std::vector<std::string>& nodes, std::function<void(bool)> then) {
  const config::PrologConfiguration& config = core_.config.prologs;
  if (config.prolog.empty()) return then(true);
  Of& mine = of(job);
  std::vector<std::string> missing = nodes;
  const std::string script_node =
      job.has_script() && !mine.starting ? job.details->nodes.Get(job.details->script_node).node() : "";
  std::erase_if(missing, [&](const std::string& node) {
    return node == script_node || contains(mine.progress.nodes_done(), node);
  });
  if (missing.empty()) return then(true);
  mine.steps.push_back({missing, std::move(then)});
  core_.committer.when_durable([this, missing, id = job.id, run_number = job.restarts] {
    Job* found = core_.state.find(id);
    if (found == nullptr || found->restarts != run_number) return;
    Of& its = of(*found);
    if (its.progress.ending()) return;
    for (const std::string& node : missing) {
      if (its.failed || found->completing) break;
      if (!its.begun.contains(node) && !contains(its.progress.nodes_done(), node)) run_prolog(*found, node);
    }
    settle_steps(*found);
  });
}

void Prologs::settle_steps(Job& job) {
  Of* mine = find(job);
  if (mine == nullptr) return;
  std::vector<std::pair<std::function<void(bool)>, bool>> settled;
  std::erase_if(mine->steps, [&](Step& step) {
    const bool done = std::all_of(step.nodes.begin(), step.nodes.end(), [&](const std::string& node) {
      return contains(mine->progress.nodes_done(), node);
    });
    const bool over = mine->failed || job.completing;
    const bool waits = std::any_of(step.nodes.begin(), step.nodes.end(),
                                   [&](const std::string& node) { return mine->begun.contains(node); });
    if (!done && (!over || waits)) return false;
    settled.emplace_back(std::move(step.then), done && !over);
    return true;
  });
  for (const auto& [then, ready] : settled) then(ready);
}

// ---- after a job ------------------------------------------------------------------------------------

bool Prologs::ends(const Job& job) const {
  const Of* mine = find(job);
  return mine != nullptr && mine->progress.ending();
}

bool Prologs::before_end(Job& job, JobState state, StateReason reason, int32_t exit_code, int64_t end_time) {
  const config::PrologConfiguration& config = core_.config.prologs;
  const bool any = !config.epilog.empty() || !config.epilog_slurmctld.empty();
  const Of* known = find(job);
  if (!any && (known == nullptr || known->running == 0)) {
    if (known != nullptr) forget(job.id);
    return false;
  }
  Of& mine = of(job);
  mine.starting = false;
  PrologProgress& progress = mine.progress;
  progress.set_ending(true);
  progress.set_state(state);
  progress.set_reason(reason);
  progress.set_exit_code(exit_code);
  progress.set_end_time(end_time);
  progress.set_requeue(job.details && job.details->requeue_when_ended);
  keep(mine);
  if (mine.running == 0)
    core_.loop.post([this, id = job.id, run_number = job.restarts] {
      Job* found = core_.state.find(id);
      if (found != nullptr && found->restarts == run_number && ends(*found)) run_epilogs(*found);
    });
  return true;
}

void Prologs::cancelled(const Job& job) {
  Of* mine = find(job);
  if (mine == nullptr || !mine->progress.ending()) return;
  mine->progress.set_requeue(false);
  mine->progress.set_state(JOB_CANCELLED);
  keep(*mine);
}

void Prologs::run_epilogs(Job& job) {
  Of& mine = of(job);
  if (mine.running > 0) return;  // a prolog runs; its end comes back here
  const config::PrologConfiguration& config = core_.config.prologs;
  const auto ended = [&](const std::string& node) {
    return [this, id = job.id, run_number = job.restarts, node](const PrologOutcome& outcome) {
      epilog_ended(id, run_number, node, outcome);
    };
  };
  if (!config.epilog_slurmctld.empty() && !mine.progress.epilog_slurmctld_done())
    run(job, config.epilog_slurmctld, environment::kEpilogSlurmctld, "", ended(""));
  for (const NodeAllocation& node : job.details->nodes) {
    if (config.epilog.empty() || mine.progress.without_nodes()) break;
    if (!contains(mine.progress.epilog_nodes_done(), node.node()))
      run(job, config.epilog, environment::kEpilog, node.node(), ended(node.node()));
  }
  if (mine.running == 0) conclude(job);
}

void Prologs::epilog_ended(uint32_t job_id, uint32_t run_number, const std::string& node,
                           const PrologOutcome& outcome) {
  Job* job = core_.state.find(job_id);
  Of* mine = job == nullptr || job->restarts != run_number ? nullptr : find(*job);
  if (mine == nullptr) return;
  --mine->running;
  if (node.empty()) {
    mine->progress.set_epilog_slurmctld_done(true);
  } else {
    mine->progress.add_epilog_nodes_done(node);
    if (outcome.status() != 0 && !outcome.too_long()) drain(node, "Epilog error");
  }
  keep(*mine);
  if (mine->running == 0) conclude(*job);
}

void Prologs::conclude(Job& job) {
  const PrologProgress progress = of(job).progress;
  forget(job.id);
  core_.run_events.tell(&RunListener::epilogs_over, job, progress.state(), progress.reason(),
                        progress.exit_code(), progress.end_time());
}

// ---- programs ---------------------------------------------------------------------------------------

void Prologs::drain(const std::string& node, const char* reason) {
  const NodeRecord* present = core_.nodes->find_node(node);
  if (present == nullptr || present->state() != NODE_IDLE) return;  // it has a state and reason already
  api::UpdateNodeRequest request;
  request.set_node_list(node);
  for (const auto& [name, value] : {std::pair{"State", "DRAIN"}, std::pair{"Reason", reason}}) {
    api::Field& field = *request.add_fields();
    field.set_name(name);
    field.set_value(value);
  }
  if (const Status done = core_.nodes->update_node(request, ::geteuid()); !done)
    os::log_error("node " + node + ": " + done.error().message);
}

void Prologs::run(const Job& job, const std::vector<std::string>& programs, const char* context,
                  const std::string& node, std::function<void(const PrologOutcome&)> done) {
  Of& mine = of(job);
  ++mine.running;
  JobRecord record = core_.state.record_of(job);
  *record.mutable_spec() = job.submission->spec();
  if (mine.progress.ending()) {
    record.set_exit_code(mine.progress.exit_code());
    record.set_end_time(mine.progress.end_time());
  }
  environment::GpuVariables gpus;
  uint64_t place = 0;
  for (int i = 0; i < record.nodes_size(); ++i) {
    if (node.empty() || record.nodes(i).node() != node) continue;
    place = static_cast<uint64_t>(i) + 1;
    gpus = gpu_variables(core_, job, node, environment::gpu_numbers(record.nodes(i)));
  }
  PrologRuns::Run run{.order = {}, .what = {}, .alone_on = {}, .done = std::move(done)};
  for (const std::string& program : programs) run.order.add_programs(program);
  std::string& block = *run.order.mutable_environment();
  for (const std::string& variable : environment::prolog_environment(
           record, core_.launching->surroundings(job, record.spec()), context, node, gpus)) {
    block.append(variable.c_str()).push_back('\0');
  }
  run.order.set_timeout_seconds(core_.config.prologs.timeout_seconds);
  run.order.set_trusted_only(core_.config.shared);
  run.order.set_lock_path(core_.config.home + "/prologs.lock");
  run.order.set_lock_number(uint64_t{job.id} * kPlacesOfJob + place);
  const bool ends = mine.progress.ending();
  run.what = std::string(ends ? "Epilog" : "Prolog") + (node.empty() ? "Slurmctld" : "") + " of job " +
             std::to_string(job.id) + (node.empty() ? "" : " on " + node);
  if (core_.config.prologs.one_at_a_time) run.alone_on = node;
  runs_.start(std::move(run));
}

}  // namespace minke::engine
