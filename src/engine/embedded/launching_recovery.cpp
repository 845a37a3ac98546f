// What the launcher has of jobs when the daemon comes to it, or comes back: those are taken up as they are,
// what the daemon knows and the launcher does not is sent again or has ended.
#include "engine/embedded/launching.h"

#include <csignal>
#include <unordered_set>
#include <utility>

#include "engine/embedded/core.h"
#include "engine/embedded/lifecycle.h"
#include "engine/embedded/nodes.h"
#include "engine/embedded/prologs.h"
#include "engine/embedded/queries.h"
#include "engine/embedded/scheduling.h"
#include "engine/embedded/steps.h"
#include "engine/embedded/tags.pb.h"
#include "engine/embedded/users.h"
#include "os/log.h"

namespace minke::engine {

using namespace model;

void Launching::recover_batch(const node::Launch& launch) {
  JobTag tag;
  const bool readable = tag.ParseFromString(launch.tag());
  const JobRecord& record = tag.record();
  Job* job = core_.state.find(launch.id().job_id());
  if (readable && record.has_array_task_id() && (job == nullptr || job->is_array_record())) {
    // It was split from its array and launched, and then the daemon was killed before that was committed.
    Job* array = core_.state.find(record.array_job_id());
    if (array != nullptr && array->is_array_record()) {
      core_.scheduling->remove(*array);
      array->queued = false;
      job = core_.state.split_task_as(*array, record.array_task_id(), record.job_id());
      core_.state.skip_job_ids_to(record.job_id());
      if (job != nullptr && job != array) core_.committer.job_changed(array->id);
    }
  }
  if (readable && job != nullptr && job->state == JOB_PENDING && job->restarts == launch.id().run()) {
    core_.scheduling->remove(*job);
    job->queued = false;
    Details& details = job->need_details();
    details.nodes = record.nodes();
    for (int i = 0; i < details.nodes.size(); ++i)
      if (details.nodes[i].node() == record.batch_host()) details.script_node = i;
    job->details->partition = record.partition();
    job->state = JOB_RUNNING;
    job->reason = WAIT_NO_REASON;
    job->start_time = record.start_time();
    job->time_limit_minutes = record.time_limit_minutes();
    if (job->array_job_id != 0) ++core_.state.find_array(job->array_job_id)->running;
    core_.committer.job_changed(job->id);
    if (const Status adopted = core_.scheduling->adopt(*job); !adopted) {
      os::log_warning("job " + std::to_string(job->id) +
                      " runs outside the configured nodes: " + adopted.error().message);
    }
  }
  if (job != nullptr && job->restarts == launch.id().run() && job->details) {
    job->details->launched = true;
    core_.lifecycle->set_alarm(*job);
  }
  note_batch_pid(launch);
  if (launch.end_time() != 0 || launch.lost() || job == nullptr) on_ended(launch);
}

void Launching::settle(Job& job) {
  if (core_.prologs->ends(job)) return;  // its epilogs go on by themselves
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
    send(job);
  }
}

void Launching::on_inventory(const node::Inventory& inventory) {
  machine_ = inventory;
  machine_.clear_launches();
  std::unordered_set<uint32_t> known;
  for (const node::Launch& launch : inventory.launches()) {
    core_.state.skip_job_ids_to(launch.id().job_id());
    if (launch.id().kind() != STEP_BATCH) continue;
    known.insert(launch.id().job_id());
    recover_batch(launch);
  }
  for (const node::Launch& launch : inventory.launches()) {
    if (launch.id().kind() == STEP_NORMAL) core_.steps->recover(launch);
  }
  core_.steps->fail_unknown(inventory);
  std::vector<uint32_t> unknown;
  for (const auto& [id, job] : core_.state.jobs()) {
    const bool runs = job->holds_nodes();
    // A start that is still being committed is sent when it is durable.
    if (runs && !known.contains(id) && (!job->has_script() || job->details->launched)) unknown.push_back(id);
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
  rebooted_ = false;
  core_.prologs->go_on();
  core_.scheduling->pause(false);
  if (on_recovered_) std::exchange(on_recovered_, nullptr)();
}

}  // namespace minke::engine
