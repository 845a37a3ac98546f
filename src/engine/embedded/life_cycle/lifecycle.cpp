#include "engine/embedded/life_cycle/lifecycle.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/request_guard.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/launching.h"
#include "engine/embedded/launching/prologs.h"
#include "engine/embedded/life_cycle/kept_nodes.h"
#include "engine/embedded/scheduling/priorities.h"
#include "engine/embedded/steps/steps.h"
#include "engine/embedded/watching/owner_watch.h"
#include "model/error.h"
#include "node/launch.pb.h"
#include "store/job_row.h"
#include "text/state.h"

namespace minke::engine {

using namespace model;

namespace {

// Slurm's texts.
constexpr char kRequeuedHeld[] = "job requeued in held state";
constexpr char kLaunchFailedHeld[] = "launch failed requeued held";
// A job often requeues itself: the command gets its answer before the processes are killed.
constexpr std::chrono::milliseconds kRequeueGrace{200};

}  // namespace

void Lifecycle::enter_running(Job& job, int64_t start_time, JobListener::Start how) {
  core_.diagnostics.job_started();
  job.state = JOB_RUNNING;
  job.reason = WAIT_NO_REASON;
  job.start_time = start_time;
  job.end_time = 0;
  job.exit_code = job.derived_exit_code = 0;
  if (job.array_job_id != 0) ++core_.state.find_array(job.array_job_id)->running;
  core_.committer.job_changed(job.id);
  core_.job_events.tell(&JobListener::job_started, job, how);
  set_alarm(job);
}

void Lifecycle::started(Job& job) {
  enter_running(job, core_.now(), JobListener::Start::kFresh);
  core_.prologs->before_job(job);
}

void Lifecycle::prologs_over(Job& job) {
  if (job.has_script()) {
    core_.launching->launch(job);
  } else {
    core_.launching->begin_allocation(job);
  }
  core_.job_events.tell(&JobListener::job_launched, job);
}

void Lifecycle::prolog_failed(Job& job, bool launched, bool hold) {
  if (job.completing || !job.holds_nodes()) return;
  if (job.het_job_id != 0 && !job.is_het_leader()) {
    if (Job* leader = core_.state.find(job.het_job_id))
      return prolog_failed(*leader, !core_.prologs->holds_back(*leader), hold);
  }
  Details& details = job.need_details();
  details.requeue_when_ended = job.has_script() && job.requeue_allowed;
  if (details.requeue_when_ended && hold) job.priority = 0;
  const JobState as = details.requeue_when_ended ? JOB_REQUEUED
                      : job.has_script()         ? JOB_FAILED
                                                 : JOB_CANCELLED;
  if (launched) return stop(job, as, FAIL_LAUNCH, false);
  job.state = details.ending_as = as;
  details.ending_reason = FAIL_LAUNCH;
  job.completing = true;
  ended(job, as == JOB_FAILED ? 1 << 8 : 0, core_.now());
}

void Lifecycle::ended(Job& job, int32_t exit_code, int64_t end_time) {
  const Details& details = job.need_details();
  if (details.ending_as != JOB_PENDING) {
    // The reason for which it was stopped decides how it ended, whatever its exit code is.
    const bool lost = details.ending_as == JOB_NODE_FAIL;  // lost with its node: unknown
    finish(job, details.ending_as, details.ending_reason, lost ? 0 : exit_code, end_time);
  } else if (exit_code == text::kOutOfMemory) {
    finish(job, JOB_OOM, FAIL_OOM, exit_code, end_time);
  } else if (exit_code == 0) {
    finish(job, JOB_COMPLETE, WAIT_NO_REASON, 0, end_time);
  } else {
    finish(job, JOB_FAILED, WIFSIGNALED(exit_code) ? FAIL_SIGNAL : FAIL_EXIT_CODE, exit_code, end_time);
  }
}

void Lifecycle::failed(Job& job, JobState state, StateReason reason, const std::string& detail,
                       int64_t end_time) {
  Details& details = job.need_details();
  details.reason_detail = detail;
  // It is being stopped already, which decided how it ends.
  if (details.ending_as != JOB_PENDING) return ended(job, SIGKILL, end_time);
  if (state == JOB_NODE_FAIL && job.requeue_allowed) details.requeue_when_ended = true;
  finish(job, state, reason, state == JOB_FAILED ? 1 << 8 : 0, end_time);
}

void Lifecycle::launch_failed(Job& job, const std::string& problem, int64_t time) {
  failed(job, JOB_FAILED, FAIL_LAUNCH, problem, time);
}

void Lifecycle::run_lost(Job& job, const std::string& why, int64_t time) {
  failed(job, JOB_NODE_FAIL, FAIL_DOWN_NODE, why, time);
}

void Lifecycle::nothing_left(Job& job, int32_t exit_code) {
  ended(job, exit_code, core_.now());
}

void Lifecycle::node_down(const std::string& node) {
  std::vector<Job*> there;
  for (const auto& [id, job] : core_.state.jobs())
    if (job->holds_nodes() && job->has_node(node)) there.push_back(job.get());
  for (Job* job : there) node_failed(*job, node);
}

void Lifecycle::partition_changed(const PartitionRecord& partition, bool) {
  for (const auto& [id, job] : core_.state.jobs())
    if (job->state == JOB_RUNNING && job->details && job->details->partition == partition.name())
      set_alarm(*job);
}

void Lifecycle::node_failed(Job& job, const std::string& node) {
  if (job.completing || !job.holds_nodes()) return;
  if (job.het_job_id != 0 && !job.is_het_leader()) {
    if (Job* leader = core_.state.find(job.het_job_id)) return node_failed(*leader, node);
  }
  if (job.details->nodes.size() > 1 && job.submission->spec().no_kill()) {
    NodeList kept;
    for (const NodeAllocation& one : job.details->nodes)
      if (one.node() != node) *kept.Add() = one;
    // The node of its script stays with it: the script runs on. So do the nodes of a heterogeneous job.
    if (job.state == JOB_RUNNING && job.het_job_id == 0)
      static_cast<void>(keep_nodes(core_, job, std::move(kept)));
    return;
  }
  if (job.has_script()) job.details->requeue_when_ended = job.requeue_allowed;
  stop(job, JOB_NODE_FAIL, FAIL_DOWN_NODE, false);
}

void Lifecycle::time_out(Job& job) {
  if (job.completing || !job.holds_nodes()) return;
  stop(job, JOB_TIMEOUT, FAIL_TIMEOUT, false);
}

void Lifecycle::ask_to_give_way(Job& job, int64_t grace_end, bool requeue) {
  MINKE_CHECK(job.state == JOB_RUNNING && !job.completing);
  job.details->grace_end = grace_end;
  job.details->requeue_when_preempted = requeue;
  if (grace_end <= core_.now()) return give_way(job);
  core_.committer.job_changed(job.id);
  for (const Job* one : job.is_het_leader() ? core_.state.components(job) : std::vector<Job*>{&job}) {
    core_.launching->signal(*one, SIGCONT, node::SignalOrder::STEPS);
    core_.launching->signal(*one, SIGTERM, node::SignalOrder::STEPS);
  }
  set_alarm(job);
}

void Lifecycle::give_way(Job& job) {
  job.details->requeue_when_ended =
      job.details->requeue_when_preempted && job.requeue_allowed && job.has_script();
  stop(job, JOB_PREEMPTED, WAIT_NO_REASON, false);
}

void Lifecycle::count_in_array(const Job& job) {
  if (job.array_job_id == 0) return;
  ArrayGroup* group = core_.state.find_array(job.array_job_id);
  MINKE_CHECK(group != nullptr);
  ++group->ended;
  if (job.state == JOB_COMPLETE) ++group->succeeded;
  group->highest_exit = std::max(group->highest_exit, job.own_exit_code());
  if (job.exit_code != 0)
    group->lowest_exit =
        group->lowest_exit == 0 ? job.exit_code : std::min(group->lowest_exit, job.exit_code);
}

void Lifecycle::finish(Job& job, JobState state, StateReason reason, int32_t exit_code, int64_t end_time) {
  MINKE_CHECK(!job.ended() || job.completing);
  if (job.start_time != 0 && job.holds_nodes()) {
    if (core_.prologs->ends(job)) return;  // a repeated report: the launcher has not learnt that we know
    if (core_.prologs->before_end(job, state, reason, exit_code, end_time)) {
      core_.alarms.cancel(job.id);
      core_.steps->job_ended(job);
      Details& details = job.need_details();
      details.kill_time = 0;
      details.terminate_timer.reset();
      job.state = details.ending_as = state;
      job.reason = details.ending_reason = reason;
      job.exit_code = exit_code;
      job.end_time = std::max(end_time, job.start_time);
      job.completing = true;
      job.configuring = job.stopped = false;
      core_.committer.job_changed(job.id);
      return;
    }
  }
  conclude(job, state, reason, exit_code, end_time);
}

void Lifecycle::conclude(Job& job, JobState state, StateReason reason, int32_t exit_code, int64_t end_time) {
  const bool was_running = job.start_time != 0 && job.holds_nodes();
  RequestGuard::changing();
  core_.alarms.cancel(job.id);
  if (was_running) {
    if (state != JOB_CANCELLED && core_.job_events.next_run(job) != 0) {
      state = JOB_REQUEUED;
      job.need_details().requeue_when_ended = true;
    }
    core_.steps->job_ended(job);
    core_.job_events.tell(&JobListener::job_freed, job, std::max(end_time, job.start_time));
  }
  job.state = state;
  job.reason = reason;
  job.completing = job.configuring = job.stopped = false;
  job.exit_code = exit_code;
  job.end_time = std::max(end_time, job.start_time);
  if (was_running) {
    core_.job_events.tell(&JobListener::run_ended, job);
  } else {
    core_.job_events.tell(&JobListener::job_left_queue, job);
    job.start_time = 0;
  }
  if (was_running && job.array_job_id != 0) {
    --core_.state.find_array(job.array_job_id)->running;
    core_.job_events.tell(&JobListener::array_task_over, job.array_job_id);
  }
  if (job.details && job.details->requeue_when_ended) {
    if (job.is_het_leader()) requeue_components(job);
    back_to_queue(job);
    return;
  }
  core_.diagnostics.job_ended(job.state, job.reason);
  count_in_array(job);
  core_.committer.job_changed(job.id);
  core_.job_events.tell(&JobListener::job_ended, job, was_running);
  if (job.is_het_leader()) end_components(job);
}

void Lifecycle::requeue_components(const Job& leader) {
  for (Job* component : core_.state.components(leader)) {
    if (component == &leader || component->ended() || component->completing ||
        component->state == JOB_PENDING)
      continue;
    Details& details = component->need_details();
    details.requeue_when_ended = true;
    component->priority = leader.priority == 0 ? 0 : component->priority;
    stop(*component, JOB_REQUEUED, WAIT_NO_REASON, false);
  }
}

void Lifecycle::end_components(const Job& leader) {
  for (Job* component : core_.state.components(leader)) {
    if (component == &leader || component->ended() || component->completing) continue;
    if (component->state == JOB_PENDING) {
      component->cancelled_by_uid = leader.cancelled_by_uid;
      finish(*component, leader.state, leader.reason, 0, core_.now());
      continue;
    }
    component->exit_code = leader.exit_code;
    component->cancelled_by_uid = leader.cancelled_by_uid;
    stop(*component, leader.state, leader.reason, false);
  }
}

namespace {

// --requeue=expedite: a job that lost its node is put before all others, at once, until that run has ended.
bool expedite(const Core& core, Job& job, bool lost_its_node) {
  constexpr uint32_t kFirst = 0xfffffffe;
  const bool was_first = job.fixed_priority && job.priority == kFirst;
  if (job.priority == 0 || (!lost_its_node && !was_first)) return false;
  const JobSpec spec = job.submission->spec();
  if (!spec.expedited_requeue()) return false;
  job.priority = lost_its_node ? kFirst : std::max(1U, core.priorities->initial(spec, job.id));
  job.fixed_priority = lost_its_node || spec.has_priority();
  return lost_its_node;
}

}  // namespace

void Lifecycle::back_to_queue(Job& job) {
  const bool first = expedite(core_, job, job.state == JOB_NODE_FAIL);
  core_.committer.run_ended(core_.state.row_of(job));
  core_.job_events.tell(&JobListener::job_requeued, job);
  ++job.restarts;
  job.state = JOB_PENDING;
  job.reason = WAIT_NO_REASON;
  job.start_time = job.end_time = 0;
  const int64_t next_run = core_.job_events.next_run(job);
  if (next_run == 0) job.exit_code = job.derived_exit_code = 0;
  job.cancelled_by_uid = 0;
  core_.job_events.tell(&JobListener::job_waits_again, job);
  job.submit_time = core_.now();
  const int64_t delay = first || job.priority == 0 ? 0 : int64_t{core_.config.requeue_delay_seconds};
  job.eligible_time = job.submit_time + delay;
  if (next_run != 0) job.eligible_time = next_run;
  const bool launch_failed = job.details && job.details->ending_reason == FAIL_LAUNCH;
  auto dependencies = job.details ? std::move(job.details->dependencies) : std::vector<Dependency>();
  job.details.reset();
  if (!dependencies.empty()) job.need_details().dependencies = std::move(dependencies);
  if (job.priority == 0) {
    job.reason = WAIT_HELD_USER;
    job.need_details().reason_detail = launch_failed ? kLaunchFailedHeld : kRequeuedHeld;
  }
  core_.committer.job_changed(job.id);
  set_alarm(job);
  core_.job_events.tell(&JobListener::obstacle_changed, job);
}

void Lifecycle::cancel(Job& job, uint32_t by_uid) {
  if (job.completing) {
    // It is completing already; a planned requeue is dropped.
    if (!std::exchange(job.details->requeue_when_ended, false)) return;
    job.cancelled_by_uid = by_uid;
    job.state = job.details->ending_as = JOB_CANCELLED;
    core_.prologs->cancelled(job);
    core_.committer.job_changed(job.id);
    return;
  }
  if (job.ended()) return;
  job.cancelled_by_uid = by_uid;
  if (job.state == JOB_PENDING) {
    if (job.het_job_id != 0 && !job.is_het_leader()) {
      // The other components cannot start without it.
      if (Job* leader = core_.state.find(job.het_job_id)) return cancel(*leader, by_uid);
    }
    if (job.array) {
      // The waiting tasks end as one record, as in Slurm.
      ArrayGroup* group = core_.state.find_array(job.array_job_id);
      group->ended += job.array->waiting.size() - 1;
    }
    // A held job was never eligible, and its record keeps saying so, as it does what the job waited for.
    if (job.priority == 0) job.eligible_time = 0;
    finish(job, JOB_CANCELLED, job.reason, 0, core_.now());
    return;
  }
  stop(job, JOB_CANCELLED, WAIT_NO_REASON, false);
}

namespace {

// For the lines that Slurm writes when it ends a job or a step.
std::string why_ended(JobState ending_as) {
  switch (ending_as) {
    case JOB_TIMEOUT:
      return "DUE TO TIME LIMIT";
    case JOB_PREEMPTED:
      return "DUE TO PREEMPTION";
    case JOB_NODE_FAIL:
      return "DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS";
    case JOB_REQUEUED:
      return "DUE TO JOB REQUEUE";
    default:
      return "";
  }
}

}  // namespace

void Lifecycle::stop(Job& job, JobState ending_as, StateReason reason, bool at_once) {
  Details& details = job.need_details();
  if (job.completing) return;
  if (job.state == JOB_SUSPENDED) count_suspension(job);
  job.state = details.ending_as = ending_as;
  details.ending_reason = reason;
  job.completing = true;
  core_.committer.job_changed(job.id);
  if (core_.prologs->holds_back(job)) {
    // Nothing of it has been launched.
    core_.loop.post([this, id = job.id, run = job.restarts] {
      Job* found = core_.state.find(id);
      if (found != nullptr && found->restarts == run && found->completing) ended(*found, 0, core_.now());
    });
    return;
  }
  if (job.has_script() && !at_once) core_.launching->announce(job, why_ended(ending_as));
  const bool ends_steps = !at_once && core_.steps->abort(job, why_ended(ending_as));
  if (!job.has_script() && !ends_steps) {
    core_.launching->end_allocation(job);
    return;
  }
  if (at_once) {
    core_.launching->signal(job, SIGKILL, node::SignalOrder::ALL);
    return;
  }
  if (ending_as == JOB_REQUEUED) {
    details.terminate_timer = core_.loop.make_timer([this, id = job.id] {
      if (const Job* found = core_.state.find(id)) terminate(*found);
    });
    details.terminate_timer->set_after(kRequeueGrace);
  } else {
    terminate(job);
  }
  if (details.kill_time == 0) details.kill_time = core_.now() + core_.config.kill_wait_seconds;
  set_alarm(job);
}

void Lifecycle::terminate(const Job& job) {
  core_.launching->signal(job, SIGCONT, node::SignalOrder::ALL);
  core_.launching->signal(job, SIGTERM, node::SignalOrder::ALL);
}

void Lifecycle::signal(Job& job, uint32_t signal, bool batch_only, bool full, bool steps_only) {
  using node::SignalOrder;
  SignalOrder::Target target = SignalOrder::STEPS;
  if (batch_only) target = SignalOrder::BATCH_SHELL;
  if (full) target = SignalOrder::BATCH_SESSION;
  if (steps_only) target = SignalOrder::STEPS;
  // Slurm treats both as the end, whatever the job does with the signal.
  if (signal == SIGTERM || (signal == SIGKILL && batch_only)) {
    if (target != SignalOrder::STEPS && job.has_script()) core_.launching->announce(job, "");
    if (target != SignalOrder::BATCH_SHELL) core_.steps->announce(job);
  }
  if (signal == SIGSTOP || signal == SIGCONT) {
    job.stopped = signal == SIGSTOP;
    core_.committer.job_changed(job.id);
  }
  core_.launching->signal(job, signal, target);
  if (full) core_.launching->signal(job, signal, SignalOrder::STEPS);
}

void Lifecycle::watch_owner(Job& job) {
  if (job.submission->spec().external()) return;  // it is nobody's who runs
  Details& details = job.need_details();
  details.owner_watch = std::make_unique<OwnerWatch>(core_.loop, details.owner, [this, id = job.id] {
    if (Job* found = core_.state.find(id)) cancel(*found, found->uid);
  });
}

Status Lifecycle::complete_allocation(Job& job, int32_t status) {
  if (!job.submission->interactive) return failure("", kBatchOnly);
  if (job.completing || job.ended()) return {};
  if (job.state == JOB_PENDING) {
    cancel(job, job.uid);
    return {};
  }
  job.exit_code = status;
  if (status == text::kOutOfMemory) {
    stop(job, JOB_OOM, FAIL_OOM, true);
  } else {
    stop(job, status == 0 ? JOB_COMPLETE : JOB_FAILED, status == 0 ? WAIT_NO_REASON : FAIL_EXIT_CODE, true);
  }
  return {};
}

}  // namespace minke::engine
