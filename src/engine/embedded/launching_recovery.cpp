// What the launcher has of jobs when the daemon comes to it, or comes back: those are taken up as they are,
// what the daemon knows and the launcher does not is sent again or has ended.
#include "engine/embedded/launching.h"

#include <csignal>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/embedded/core.h"
#include "engine/embedded/lifecycle.h"
#include "engine/embedded/nodes.h"
#include "engine/embedded/prologs.h"
#include "engine/embedded/queries.h"
#include "engine/embedded/scheduling.h"
#include "engine/embedded/steps.h"
#include "engine/embedded/tags.pb.h"
#include "engine/embedded/users.h"
#include "node/launch.pb.h"
#include "node/tmp_dir.h"
#include "os/log.h"
#include "os/shortage.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr char kBootSetting[] = "boot_id";
constexpr char kJournalSetting[] = "journal_id";

using Run = std::pair<uint32_t, uint32_t>;  // job id, restarts

}  // namespace

// A launch that failed is tried again under its name. With its power the machine has lost what the launcher
// wrote last: of the later try, which may have run, nothing is known.
bool Launching::was_tried_again(const node::Launch& launch) const {
  const Job* job = core_.state.find(launch.id().job_id());
  return rebooted_ && job != nullptr && job->restarts == launch.id().run() && job->holds_nodes() &&
         launch.start_time() < job->start_time;
}

bool Launching::recover_batch(const node::Launch& launch) {
  JobTag tag;
  const bool readable = tag.ParseFromString(launch.tag());
  const JobRecord& record = tag.record();
  Job* job = core_.state.find(launch.id().job_id());
  const bool waits = job == nullptr || job->is_array_record() ||
                     (job->state == JOB_PENDING && job->restarts == launch.id().run());
  if (waits && os::is_shortage(static_cast<int>(launch.error_number()))) {
    // Nothing of it has run. It waits, in its array where it was never stored that it had left it; the
    // launcher had not been told to forget the try.
    collect(launch.id());
    return false;
  }
  if (readable && record.has_array_task_id() && (job == nullptr || job->is_array_record())) {
    // It was split from its array and launched, and then the daemon was killed before that was committed.
    Job* array = core_.state.find_task(record.array_job_id(), record.array_task_id());
    if (array != nullptr && array->is_array_record()) {
      // Its entry in the queue counts its tasks. Where the task does not wait (its end is durable, and only
      // the launcher had not been told), the array is as it was: resume_waiting() puts it back.
      core_.scheduling->remove(*array);
      job = core_.state.split_task_as(*array, record.array_task_id(), record.job_id());
      core_.state.skip_job_ids_to(record.job_id());
      if (job != nullptr && job != array) {
        core_.committer.job_changed(array->id);
        core_.committer.job_changed(job->id);
      }
    }
  }
  if (readable && job != nullptr && job->state == JOB_PENDING && job->restarts == launch.id().run())
    core_.lifecycle->adopt_start(*job, record);
  if (job != nullptr && job->restarts == launch.id().run() && job->details) {
    job->details->launched = true;
    core_.lifecycle->set_alarm(*job);
  }
  note_batch_pid(launch);
  return launch.end_time() != 0 || launch.lost() || job == nullptr;
}

bool Launching::may_have_run(const Job& job) const {
  return journal_lost_ || (job.details->batch_pid != 0 && job.has_script());
}

void Launching::settle(Job& job) {
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
  if (!job.has_script() && !job.submission->interactive) {
    // A further component of a heterogeneous job: it ends with the first.
    const Job* leader = core_.state.find(job.het_job_id);
    if (job.completing || leader == nullptr || !leader->holds_nodes()) {
      if (!job.completing) core_.lifecycle->stop(job, JOB_CANCELLED, WAIT_NO_REASON, true);
      end_allocation(job);
    } else if (rebooted_) {
      core_.lifecycle->failed(job, JOB_NODE_FAIL, FAIL_DOWN_NODE, "the machine was restarted", core_.now());
    } else if (waits) {
      core_.prologs->before_job(job);
    }
    return;
  }
  if (job.submission->interactive) {
    if (job.completing) {
      end_allocation(job);
    } else if (rebooted_ || !owner_is_alive(job.details->owner)) {
      core_.lifecycle->cancel(job, job.uid);
    } else if (waits) {
      core_.prologs->before_job(job);
    }
    return;
  }
  if (job.completing) {
    core_.lifecycle->ended(job, SIGKILL, core_.now());
  } else if (rebooted_) {
    core_.lifecycle->failed(job, JOB_NODE_FAIL, FAIL_DOWN_NODE, "the machine was restarted", core_.now());
  } else if (waits) {
    job.details->launched = false;
    core_.prologs->before_job(job);
  } else {
    // Its place may be another's: nothing of what followed its start need have been stored.
    os::log_info("job " + std::to_string(job.id) + " waits again: the launcher never had it");
    core_.lifecycle->wait_again(job);
  }
}

// Settled and stored together: a daemon that is killed before that is durable finds all as this one did.
void Launching::note_settled() {
  const std::string& journal = machine_.journal_id();
  if (!journal.empty() && journal != journal_id_) core_.committer.setting_changed(kJournalSetting, journal);
  if (!journal.empty()) journal_id_ = journal;
  if (boot_id_ != stored_boot_id_) core_.committer.setting_changed(kBootSetting, boot_id_);
  stored_boot_id_ = boot_id_;
  if (rebooted_ && core_.config.tmp_root == core_.config.home + "/tmp")
    node::set_aside_tmp_dirs(core_.config.tmp_root, boot_id_);
  rebooted_ = journal_lost_ = false;
}

void Launching::restore(const std::vector<std::pair<std::string, std::string>>& settings,
                        std::string boot_id) {
  for (const auto& [name, value] : settings) {
    if (name == kBootSetting) stored_boot_id_ = value;
    if (name == kJournalSetting) journal_id_ = value;
  }
  boot_id_ = std::move(boot_id);
  rebooted_ = !stored_boot_id_.empty() && stored_boot_id_ != boot_id_;
}

void Launching::resume_waiting() {
  std::vector<uint32_t> ids;
  for (const auto& [id, job] : core_.state.jobs())
    if (job->state == JOB_PENDING && job->committed && !job->queued) ids.push_back(id);
  for (const uint32_t id : ids)
    if (Job* job = core_.state.find(id)) core_.scheduling->update(*job);
}

void Launching::on_inventory(const node::Inventory& inventory) {
  machine_ = inventory;
  machine_.clear_launches();
  journal_lost_ =
      !journal_id_.empty() && !inventory.journal_id().empty() && inventory.journal_id() != journal_id_;
  if (journal_lost_) os::log_warning("the launcher has lost its journal: what ran is not known any more");
  // Of each run what was launched, then its steps, then its end: that takes its steps along, and they are
  // accounted for only where they are known by then.
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
      if (recover_batch(*launch)) ended = launch;
    }
    for (const node::Launch* launch : launches)
      if (launch->id().kind() == STEP_NORMAL) core_.steps->recover(*launch);
    if (ended != nullptr) on_ended(*ended);
  }
  core_.steps->fail_unknown(inventory);
  std::vector<uint32_t> unknown;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (!job->holds_nodes() || known.contains({id, job->restarts})) continue;
    // A start that is still being committed is sent when it is durable.
    if (!job->has_script() || job->details->launched) unknown.push_back(id);
  }
  for (const uint32_t id : unknown) {
    if (Job* job = core_.state.find(id)) settle(*job);
  }
  // Those that are being stopped: the order may have been lost with the connection.
  for (const auto& [id, job] : core_.state.jobs()) {
    if (job->state == JOB_SUSPENDED && !job->completing) signal(*job, SIGSTOP, node::SignalOrder::ALL);
    if (!job->completing || core_.prologs->ends(*job)) continue;
    if (!job->has_script() && !core_.steps->has_running(id)) {
      end_allocation(*job);
      continue;
    }
    signal(*job, SIGCONT, node::SignalOrder::ALL);
    signal(*job, SIGTERM, node::SignalOrder::ALL);
    if (job->details->kill_time == 0) job->details->kill_time = core_.now() + core_.config.kill_wait_seconds;
    core_.lifecycle->set_alarm(*job);
  }
  note_settled();
  core_.prologs->go_on();
  core_.scheduling->pause(false);
  if (on_recovered_) {
    std::exchange(on_recovered_, nullptr)();
  } else {
    resume_waiting();
  }
}

}  // namespace minke::engine
