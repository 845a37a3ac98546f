#include "engine/embedded/restart.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/accounts/quotas.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/launching.h"
#include "engine/embedded/launching/prologs.h"
#include "engine/embedded/life_cycle/crontabs.h"
#include "engine/embedded/life_cycle/dependencies.h"
#include "engine/embedded/life_cycle/lifecycle.h"
#include "engine/embedded/recovery.h"
#include "engine/embedded/scheduling/history.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/preemption.h"
#include "engine/embedded/scheduling/reservations.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/state/answered_requests.h"
#include "engine/embedded/state/kept_submission.h"
#include "engine/embedded/steps/steps.h"
#include "engine/embedded/watching/mail.h"
#include "engine/embedded/watching/measuring.h"
#include "engine/embedded/watching/past_events.h"
#include "engine/embedded/watching/software_requests.h"
#include "engine/embedded/watching/triggers.h"
#include "os/log.h"
#include "store/job_row.h"
#include "store/store.h"

namespace minke::engine {

using namespace model;

Status Restart::load(const std::string& boot_id) {
  auto loaded = core_.store.load();
  if (!loaded) return failure(loaded.error());
  core_.state.skip_job_ids_to(std::max(loaded->highest_job_id, core_.config.first_job_id - 1));
  restore_rows(loaded->rows, boot_id);
  restore_jobs(*loaded);
  for (const StepRecord& step : loaded->active_steps) core_.steps->restore(step);
  if (const Status counted = count_ended_tasks(); !counted) return counted;
  core_.history->load();
  set_aside(loaded->rows.damaged());
  return {};
}

void Restart::set_aside(const std::vector<store::DamagedRow>& rows) {
  for (const store::DamagedRow& row : rows) {
    damaged_.push_back(store::in_words(row));
    os::log_error("damaged in the database, and set aside: " + damaged_.back());
    core_.committer.set_aside(row);
    core_.accounts->keep_bare(row);
  }
}

std::vector<std::string> Restart::damaged() const {
  std::vector<std::string> names = damaged_;
  const auto stored = core_.store.set_aside();
  if (!stored) return names;
  for (const std::string& name : *stored)
    if (std::find(damaged_.begin(), damaged_.end(), name) == damaged_.end()) names.push_back(name);
  return names;
}

void Restart::restore_rows(store::LoadedRows& rows, const std::string& boot_id) {
  core_.answered->restore(rows);
  core_.reservations->restore(rows);
  core_.nodes->restore(rows);
  core_.accounts->restore(rows);
  core_.past_events->restore(rows);
  if (!core_.accounts->book().resources().empty()) core_.scheduling->layout_changed();
  core_.preemption->restore(rows);
  core_.quotas->restore(rows);
  core_.prologs->restore(rows);
  core_.mail->restore(rows);  // before any end is reported: each message has its own number
  core_.triggers->restore(rows);
  core_.software_requests->restore(rows);
  core_.crontabs->restore(rows);
  core_.recovery->restore(rows, boot_id);
}

void Restart::restore_jobs(store::Loaded& loaded) {
  State& state = core_.state;
  std::unordered_map<uint32_t, const JobSpec*> specs;
  for (const store::SpecRow& row : loaded.specs) specs.emplace(row.spec_id, &row.spec);
  std::unordered_map<uint32_t, std::shared_ptr<const Submission>> submissions;
  const std::string default_partition = core_.nodes->default_partition().name();
  for (const store::JobRow& row : loaded.active_jobs) {
    std::shared_ptr<const Submission>& submission = submissions[row.spec_id];
    if (!submission) {
      const auto spec = specs.find(row.spec_id);
      if (spec == specs.end()) {  // the spec cannot be read
        loaded.rows.reject(store::damaged_row(row));
        continue;
      }
      Submission made = make_submission(row.spec_id, *spec->second, default_partition);
      if (!row.script.empty()) made.script = state.intern(row.script);
      made.environment = state.intern(row.environment);
      submission = keep_submission(core_, row.record.uid(), std::move(made));
    }
    Job& job = state.add(state.job_of(row, submission));
    core_.accounts->adopt(job);
    if (is_split_record(job))
      job.submission = keep_for_split_record(core_, job.uid, std::move(job.submission));
    if (job.state == JOB_PENDING) continue;
    Details& details = job.need_details();
    details.launched = true;
    if (job.completing) {
      details.ending_as = job.state;
      details.ending_reason = job.reason;
      details.requeue_when_ended = job.state == JOB_REQUEUED ||
                                   (job.state == JOB_PREEMPTED && core_.preemption->requeues(job)) ||
                                   (job.state == JOB_NODE_FAIL && job.has_script() && job.requeue_allowed);
    }
    if (const Status adopted = core_.scheduling->adopt(job); !adopted) {
      os::log_warning("job " + std::to_string(job.id) +
                      " runs outside the configured nodes: " + adopted.error().message);
    }
    if (job.array_job_id != 0) ++state.find_array(job.array_job_id)->running;
  }
}

Status Restart::count_ended_tasks() {
  for (const auto& [id, job] : core_.state.jobs()) {
    if (job->array_job_id == 0) continue;
    ArrayGroup* group = core_.state.find_array(job->array_job_id);
    if (group->ended != 0 || *group->jobs.begin() != id) continue;
    const auto outcome = core_.store.array_outcome(job->array_job_id);
    if (!outcome) return failure(outcome.error());
    group->ended = outcome->ended;
    group->succeeded = outcome->succeeded;
  }
  return {};
}

size_t Restart::recovered() {
  std::vector<uint32_t> ids;
  for (const auto& [id, job] : core_.state.jobs()) ids.push_back(id);
  for (const uint32_t id : ids) {
    Job* job = core_.state.find(id);
    if (job == nullptr) continue;
    core_.dependencies->watch(*job);
    if (job->submission->interactive && !job->ended()) core_.lifecycle->watch_owner(*job);
  }
  for (const uint32_t id : ids) {
    Job* job = core_.state.find(id);
    if (job == nullptr) continue;
    core_.lifecycle->set_alarm(*job);
    if (job->holds_nodes()) core_.measuring->adopt(*job);
    if (job->state == JOB_PENDING) core_.scheduling->update(*job);
  }
  core_.crontabs->recovered();
  core_.reservations->advance();
  core_.launching->clear_spool();
  return ids.size();
}

void Restart::go_on() {
  core_.triggers->go_on();
}

}  // namespace minke::engine
