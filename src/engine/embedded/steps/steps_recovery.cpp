// Steps that ran when the daemon came back, from what the store and the launcher have of them.
#include "engine/embedded/steps/steps.h"

#include <algorithm>
#include <utility>

#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "node/launch.pb.h"

namespace minke::engine {

using namespace model;

void Steps::restore(const StepRecord& record) {
  // The next step gets a number of its own, also among those of a heterogeneous job's other components.
  if (Job* job = core_.state.find(record.job_id());
      job != nullptr && job->restarts == record.restarts() && record.kind() == STEP_NORMAL) {
    skip_step_ids_to(*job, record.step_id());
  }
  if (record.kind() == STEP_NORMAL && record.end_time() == 0)
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
  if (find(launch.id()) != nullptr) {  // the daemon lived on: only what became of the step is news
    if (launch.end_time() != 0 || launch.lost()) step_ended(launch);
    return;
  }
  Step step;
  Job* job = core_.state.find(launch.id().job_id());
  if (job == nullptr || job->restarts != launch.id().run() || !job->details || job->ended() ||
      !step.tag.ParseFromString(launch.tag()))
    return collect(launch.id());
  skip_step_ids_to(*job, launch.id().step_id());
  if (const auto stored = restored_.extract({job->id, launch.id().step_id()});
      stored && stored.mapped().restarts() == job->restarts) {
    StepRecord& record = *step.tag.mutable_record();
    record.clear_time_limit_minutes();
    if (stored.mapped().has_time_limit_minutes())
      record.set_time_limit_minutes(stored.mapped().time_limit_minutes());
  }
  step.charge = core_.rights->budgets().adopt(job->uid, config::Budget::kSteps, 1);
  step.started = true;
  step.pids.assign(launch.pids().begin(), launch.pids().end());
  Step& found = jobs_[job->id].running.emplace(launch.id().step_id(), std::move(step)).first->second;
  watch_owner(found);
  watch_time_limit(found);
  if (launch.end_time() != 0 || launch.lost()) step_ended(launch);
}

void Steps::fail_unknown(const node::Inventory& inventory) {
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
