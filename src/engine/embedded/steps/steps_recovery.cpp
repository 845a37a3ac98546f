// Recovers the steps that ran when the daemon restarted, from the store and the launcher.
#include "engine/embedded/steps/steps.h"

#include <algorithm>
#include <csignal>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "model/interactive_step.h"
#include "node/launch.pb.h"
#include "store/job_row.h"
#include "store/store.h"

namespace minke::engine {

using namespace model;

void Steps::restore(const StepRecord& record) {
  // The next step needs an unused number, also across a heterogeneous job's components.
  if (Job* job = core_.state.find(record.job_id());
      job != nullptr && job->restarts == record.restarts() && record.kind() == STEP_NORMAL) {
    skip_step_ids_to(*job, record.step_id());
  }
  if (record.kind() == STEP_NORMAL || record.kind() == STEP_INTERACTIVE)
    restored_[{record.job_id(), record.step_id()}] = record;
}

void Steps::skip_step_ids_to(Job& job, uint32_t used) {
  Job* const leader = job.het_job_id == 0 ? &job : core_.state.find(job.het_job_id);
  for (Job* counting : {&job, leader}) {
    if (counting == nullptr) continue;
    uint32_t& next = counting->need_details().next_step_id;
    next = std::max(next, used + 1);
  }
}

void Steps::recover(const node::Launch& launch) {
  if (find(launch.id()) != nullptr) {  // the daemon lived on, so only the step's changes are new
    if (launch.end_time() != 0 || launch.lost()) step_ended(launch);
    return;
  }
  Step step;
  if (!step.tag.ParseFromString(launch.tag())) return collect(launch.id());
  Job* job = core_.state.find(launch.id().job_id());
  if (job != nullptr && job->restarts != launch.id().run()) job = nullptr;
  if (job != nullptr && launch.id().step_id() != kInteractiveStep)
    skip_step_ids_to(*job, launch.id().step_id());
  // All that run are known to a daemon that lived on.
  if (recovered_ || job == nullptr || !job->holds_nodes()) return take_left_over(launch, step);
  if (const auto stored = restored_.extract({job->id, launch.id().step_id()});
      stored && stored.mapped().restarts() == job->restarts) {
    // The launcher has not been told that the end is known.
    if (stored.mapped().end_time() != 0) return collect(launch.id());
    StepRecord& record = *step.tag.mutable_record();
    record.clear_time_limit_minutes();
    if (stored.mapped().has_time_limit_minutes())
      record.set_time_limit_minutes(stored.mapped().time_limit_minutes());
  }
  step.charges.step = core_.rights->budgets().adopt(job->uid, config::Budget::kSteps, 1);
  step.started = true;
  step.pids.assign(launch.pids().begin(), launch.pids().end());
  Step& found = jobs_[job->id].running.emplace(launch.id().step_id(), std::move(step)).first->second;
  watch_owner(found);
  watch_time_limit(found);
  for (const std::string& node :
       std::set<std::string>(found.tag.node_of_task().begin(), found.tag.node_of_task().end()))
    if (!job->has_node(node)) leave(*job, node);  // returned node: the order may have been lost
  if (launch.end_time() != 0 || launch.lost()) step_ended(launch);
}

struct Steps::LeftOver {
  node::LaunchId id;
  StepRecord record;  // stored if it is missing there
  bool run_known = false, stored = false;
};

// Its record was stored with its end or with its run's. It is missing if the daemon that knew of the step was
// killed and the next one never learnt of it.
void Steps::take_left_over(const node::Launch& launch, const Step& step) {
  auto left = std::make_shared<LeftOver>();
  left->id = launch.id();
  left->record = ended_record(step, launch, nullptr);
  if (launch.end_time() == 0 && !launch.lost()) {  // its remains are being killed
    left->record.set_state(JOB_CANCELLED);
    left->record.set_exit_code(SIGKILL);
    left->record.set_end_time(std::max(core_.now(), left->record.start_time()));
  }
  core_.committer.when_durable([this, left] {
    store::AccountingQuery query;
    query.job_ids = {left->id.job_id()};
    query.with_steps = query.duplicates = true;
    core_.store.query(std::move(query), [this, left](auto chunk) {
      core_.loop.post([this, left, chunk = std::move(chunk)] { find_left_over_in(chunk, *left); });
    });
  });
}

void Steps::find_left_over_in(const Result<std::vector<store::AccountedJob>>& chunk, LeftOver& left) {
  if (!chunk) return;  // it stays with the launcher: the next daemon asks again
  for (const store::AccountedJob& job : *chunk) {
    if (job.job.record.job_id() != left.id.job_id() || job.job.record.restarts() != left.id.run()) continue;
    left.run_known = true;
    for (const StepRecord& step : job.steps)
      left.stored = left.stored || (step.kind() == left.record.kind() &&
                                    step.step_id() == left.id.step_id() && step.end_time() != 0);
  }
  if (!chunk->empty()) return;
  if (left.run_known && !left.stored) core_.committer.step_changed(left.record);
  collect(left.id);
}

void Steps::fail_unknown(const node::Inventory& inventory) {
  restored_.clear();
  recovered_ = true;
  std::vector<node::Launch> unknown;
  for (const auto& [job_id, steps] : jobs_) {
    for (const auto& [step_id, step] : steps.running) {
      const bool known = std::any_of(inventory.launches().begin(), inventory.launches().end(),
                                     [job_id = job_id, step_id = step_id](const auto& launch) {
                                       return launch.id().kind() == STEP_NORMAL &&
                                              launch.id().job_id() == job_id &&
                                              launch.id().step_id() == step_id;
                                     });
      if (known) continue;
      node::Launch launch;
      launch.mutable_id()->set_job_id(job_id);
      launch.mutable_id()->set_run(step.tag.record().restarts());
      launch.mutable_id()->set_kind(STEP_NORMAL);
      launch.mutable_id()->set_step_id(step_id);
      launch.set_launch_error("the launcher was restarted before the step could be launched");
      launch.set_end_time(core_.now());
      unknown.push_back(std::move(launch));
    }
  }
  for (const node::Launch& launch : unknown) step_ended(launch);
}

}  // namespace minke::engine
