#include "engine/embedded/recovery.h"

#include <csignal>
#include <map>
#include <set>

#include "engine/embedded/accounts/users.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/launching.h"
#include "engine/embedded/launching/prologs.h"
#include "engine/embedded/life_cycle/lifecycle.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/state/tags.pb.h"
#include "engine/embedded/steps/steps.h"
#include "model/lasting_state.pb.h"
#include "node/launch.pb.h"
#include "node/tmp_dir.h"
#include "os/log.h"
#include "os/shortage.h"
#include "store/loaded_rows.h"
#include "store/tables.h"

namespace minke::engine {

using namespace model;

node::LauncherClient::Callbacks Recovery::callbacks(std::function<void()> on_recovered) {
  on_recovered_ = std::move(on_recovered);
  node::LauncherClient::Callbacks callbacks = core_.launching->callbacks();
  callbacks.on_inventory = [this](node::Inventory inventory) { on_inventory(inventory); };
  callbacks.on_lost_connection = [this](const Status&) {  // the client has logged why
    core_.scheduling->pause(true);
    core_.launcher->start();
  };
  return callbacks;
}

void Recovery::restore(store::LoadedRows& rows, std::string boot_id) {
  for (const MachineState& settled : rows.read(store::kMachine)) {
    stored_boot_id_ = settled.boot_id();
    journal_id_ = settled.journal_id();
  }
  boot_id_ = std::move(boot_id);
  rebooted_ = !stored_boot_id_.empty() && stored_boot_id_ != boot_id_;
}

void Recovery::on_inventory(const node::Inventory& inventory) {
  core_.launching->set_machine(inventory);
  journal_lost_ =
      !journal_id_.empty() && !inventory.journal_id().empty() && inventory.journal_id() != journal_id_;
  if (journal_lost_) os::log_warning("the launcher has lost its journal: what ran is not known any more");
  const std::set<Run> known = recover(inventory);
  core_.steps->fail_unknown(inventory);
  settle_unknown(known);
  go_on_stopping();
  clear_tmp_dirs(inventory);
  note_settled(inventory);
  core_.prologs->go_on();
  core_.scheduling->pause(false);
  if (on_recovered_) {
    std::exchange(on_recovered_, nullptr)();
  } else {
    resume_waiting();
  }
}

// Handles each run's script, then its steps, then its end. The end also ends the steps, and
// only known ones are accounted for.
std::set<Recovery::Run> Recovery::recover(const node::Inventory& inventory) {
  std::map<Run, std::vector<const node::Launch*>> runs;
  for (const node::Launch& launch : inventory.launches()) {
    core_.state.skip_job_ids_to(launch.id().job_id());
    runs[{launch.id().job_id(), launch.id().run()}].push_back(&launch);
  }
  std::set<Run> known;
  for (const auto& [run, launches] : runs) {
    const node::Launch* ended = nullptr;
    for (const node::Launch* launch : launches) {
      if (launch->id().kind() != STEP_BATCH || was_tried_again(*launch)) continue;
      known.insert(run);
      if (recover_script(*launch)) ended = launch;
    }
    for (const node::Launch* launch : launches)
      if (launch->id().kind() == STEP_NORMAL) core_.steps->recover(*launch);
    if (ended != nullptr) core_.launching->take_end(*ended);
  }
  return known;
}

// A failed launch is repeated under its name. After a power cut the launcher's last records are lost, so a
// later attempt, which may have run, is unknown.
bool Recovery::was_tried_again(const node::Launch& launch) const {
  const Job* job = core_.state.find(launch.id().job_id());
  return rebooted_ && job != nullptr && job->restarts == launch.id().run() && job->holds_nodes() &&
         launch.start_time() < job->start_time;
}

// The task was split off its array and launched, and the daemon was killed before that was committed.
Job* Recovery::leave_array(Job& array, const JobRecord& task) {
  // The array's entry in the queue counts its tasks. If the task does not wait (its end is durable, and only
  // the launcher did not know), the array is unchanged, and resume_waiting() puts it back.
  core_.scheduling->remove(array);
  Job* job = core_.state.split_task_as(array, task.array_task_id(), task.job_id());
  core_.state.skip_job_ids_to(task.job_id());
  if (job != nullptr && job != &array) {
    core_.committer.job_changed(array.id);
    core_.committer.job_changed(job->id);
  }
  return job;
}

bool Recovery::recover_script(const node::Launch& launch) {
  JobTag tag;
  const bool readable = tag.ParseFromString(launch.tag());
  const JobRecord& record = tag.record();
  Job* job = core_.state.find(launch.id().job_id());
  const auto is_its_run = [&] { return job != nullptr && job->restarts == launch.id().run(); };
  const bool waits = job == nullptr || job->is_array_record() || (job->state == JOB_PENDING && is_its_run());
  if (waits && os::is_shortage(static_cast<int>(launch.error_number()))) {
    // None of its processes has run. The job waits, in its array if its leaving was never stored. The
    // launcher was never told to forget the attempt.
    core_.launching->collect(launch.id());
    return false;
  }
  if (readable && record.has_array_task_id() && (job == nullptr || job->is_array_record())) {
    Job* array = core_.state.find_task(record.array_job_id(), record.array_task_id());
    if (array != nullptr && array->is_array_record()) job = leave_array(*array, record);
  }
  if (readable && is_its_run() && job->state == JOB_PENDING) core_.lifecycle->adopt_start(*job, record);
  if (is_its_run() && job->details) {
    job->details->launched = true;
    core_.lifecycle->set_alarm(*job);
  }
  core_.launching->note_pid(launch);
  return launch.end_time() != 0 || launch.lost() || job == nullptr;
}

bool Recovery::may_have_run(const Job& job) const {
  return journal_lost_ || (job.details->batch_pid != 0 && job.has_script());
}

void Recovery::settle_unknown(const std::set<Run>& known) {
  std::vector<uint32_t> unknown;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (!job->holds_nodes() || known.contains({id, job->restarts})) continue;
    // A start that is still being committed is sent when it is durable.
    if (!job->has_script() || job->details->launched) unknown.push_back(id);
  }
  for (const uint32_t id : unknown) {
    if (Job* job = core_.state.find(id)) settle(*job);
  }
}

void Recovery::settle(Job& job) {
  if (core_.prologs->ends(job)) return;  // its epilogs go on by themselves
  if (job.has_script() && !rebooted_ && may_have_run(job)) {
    const bool ending = job.completing;
    core_.lifecycle->lost(job, "the launcher's record of it was lost");
    if (!ending)
      os::log_warning("job " + std::to_string(job.id) + ": the launcher's record of it was lost; " +
                      (job.requeue_allowed ? "it goes back to the queue" : "it ends as NODE_FAIL"));
    return;
  }
  const bool waits = !job.completing && !rebooted_ && core_.prologs->wants_start(job);
  if (!waits) job.configuring = false;
  if (job.submission->interactive) return settle_allocation(job, waits);
  if (!job.has_script()) return settle_component(job, waits);
  settle_script(job, waits);
}

void Recovery::settle_component(Job& job, bool waits) {
  const Job* leader = core_.state.find(job.het_job_id);
  if (job.completing || leader == nullptr || !leader->holds_nodes()) {  // it ends with the first component
    if (!job.completing) core_.lifecycle->stop(job, JOB_CANCELLED, WAIT_NO_REASON, true);
    core_.launching->end_allocation(job);
  } else if (rebooted_) {
    core_.lifecycle->run_lost(job, "the machine was restarted", core_.now());
  } else if (waits) {
    core_.prologs->before_job(job);
  }
}

void Recovery::settle_allocation(Job& job, bool waits) {
  if (job.completing) {
    core_.launching->end_allocation(job);
  } else if (rebooted_ || !owner_is_alive(job.details->owner)) {
    core_.lifecycle->cancel(job, job.uid);
  } else if (waits) {
    core_.prologs->before_job(job);
  }
}

void Recovery::settle_script(Job& job, bool waits) {
  if (job.completing) {
    core_.lifecycle->nothing_left(job, SIGKILL);
  } else if (rebooted_) {
    core_.lifecycle->run_lost(job, "the machine was restarted", core_.now());
  } else if (waits) {
    job.details->launched = false;
    core_.prologs->before_job(job);
  } else {
    // Its place may be taken: nothing that followed its start need have been stored.
    os::log_info("job " + std::to_string(job.id) + " waits again: the launcher never had it");
    core_.lifecycle->wait_again(job);
  }
}

// A resume may have been stored but not sent.
void Recovery::go_on_stopping() {
  for (const auto& [id, job] : core_.state.jobs()) {
    if (job->state == JOB_SUSPENDED && !job->completing)
      core_.launching->signal(*job, SIGSTOP, node::SignalOrder::ALL);
    if (job->state == JOB_RUNNING && job->details->suspend_time != 0)
      core_.launching->signal(*job, SIGCONT, node::SignalOrder::ALL);
    if (!job->completing) continue;
    if (!core_.prologs->ends(*job)) {
      if (!job->has_script() && !core_.steps->has_running(id)) {
        core_.launching->end_allocation(*job);
        continue;
      }
      core_.launching->signal(*job, SIGCONT, node::SignalOrder::ALL);
      core_.launching->signal(*job, SIGTERM, node::SignalOrder::ALL);
      if (job->details->kill_time == 0)
        job->details->kill_time = core_.now() + core_.config.kill_wait_seconds;
    }
    core_.lifecycle->set_alarm(*job);
  }
}

// Settled and stored together: a daemon that is killed before finds everything as this one did.
void Recovery::note_settled(const node::Inventory& inventory) {
  const std::string& journal = inventory.journal_id();
  const bool new_journal = !journal.empty() && journal != journal_id_;
  if (new_journal) journal_id_ = journal;
  if (new_journal || boot_id_ != stored_boot_id_) {
    MachineState settled;
    settled.set_boot_id(boot_id_);
    settled.set_journal_id(journal_id_);
    core_.committer.row_changed(store::kMachine.row(settled));
  }
  stored_boot_id_ = boot_id_;
  rebooted_ = journal_lost_ = false;
}

// Removes directories that no launcher removes: of an earlier boot, and of starts that were never stored.
// Only in the home, because other places may have other clusters' directories.
void Recovery::clear_tmp_dirs(const node::Inventory& inventory) {
  const std::string& root = core_.config.tmp_root;
  if (root != core_.config.home + "/tmp") return;
  if (rebooted_) return node::set_aside_tmp_dirs(root, boot_id_);
  std::set<uint32_t> used;
  for (const node::Launch& launch : inventory.launches()) used.insert(launch.id().job_id());
  for (const auto& [id, job] : core_.state.jobs())
    if (job->holds_nodes()) used.insert(id);
  node::remove_unused_tmp_dirs(root, used);
}

void Recovery::resume_waiting() {
  std::vector<uint32_t> ids;
  for (const auto& [id, job] : core_.state.jobs())
    if (job->state == JOB_PENDING && job->committed && !job->queued) ids.push_back(id);
  for (const uint32_t id : ids)
    if (Job* job = core_.state.find(id)) core_.scheduling->update(*job);
}

}  // namespace minke::engine
