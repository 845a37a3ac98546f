// Requests of users and operators other than ending a job: hold, release, requeue, suspend and resume.
#include "engine/embedded/life_cycle/lifecycle.h"

#include <algorithm>
#include <csignal>

#include "engine/embedded/core.h"
#include "engine/embedded/launching/launching.h"
#include "engine/embedded/launching/prologs.h"
#include "engine/embedded/scheduling/priorities.h"
#include "model/error.h"
#include "model/job_spec.pb.h"
#include "node/launch.pb.h"

namespace minke::engine {

using namespace model;

namespace {

uint32_t released_priority(const Priorities& priorities, const Job& job) {
  JobSpec spec = job.submission->spec();
  spec.set_hold(false);
  return std::max(1u, priorities.initial(spec, job.id));
}

}  // namespace

Status Lifecycle::hold(Job& job, bool by_user) {
  if (job.ended()) return failure("", kJobFinished);
  job.priority = 0;
  if (job.state != JOB_PENDING) {  // it will be held if it is requeued
    core_.committer.job_changed(job.id);
    return {};
  }
  job.reason = by_user ? WAIT_HELD_USER : WAIT_HELD;
  core_.committer.job_changed(job.id);
  core_.job_events.tell(&JobListener::obstacle_changed, job);
  return {};
}

Status Lifecycle::release(Job& job) {
  if (job.ended()) return failure("", kJobFinished);
  if (job.priority == 0) {
    job.priority = released_priority(*core_.priorities, job);
    if (job.state != JOB_PENDING) {
      core_.committer.job_changed(job.id);
      return {};
    }
    job.eligible_time = std::max(job.eligible_time, core_.now());
    job.special_exit = false;
    if (job.details) job.details->reason_detail.clear();
    job.reason = WAIT_NO_REASON;
    core_.committer.job_changed(job.id);
    core_.job_events.tell(&JobListener::obstacle_changed, job);
  }
  return {};
}

Status Lifecycle::requeue(Job& job, bool then_hold, bool special_exit) {
  if (job.submission->interactive) return failure("", kBatchOnly);
  if (job.state == JOB_PENDING) return failure("", kJobPending);
  if (job.completing) return failure("", kTransitionState);
  if (!job.requeue_allowed) return failure("", kDisabled);
  Details& details = job.need_details();
  details.requeue_when_ended = true;
  if (then_hold || job.state == JOB_SUSPENDED) job.priority = 0;
  job.special_exit = special_exit;
  if (job.ended()) {
    if (ArrayGroup* group = core_.state.find_array(job.array_job_id); job.array_job_id != 0) {
      --group->ended;
      if (job.state == JOB_COMPLETE) --group->succeeded;
    }
    job.state = JOB_REQUEUED;
    back_to_queue(job);
    return {};
  }
  stop(job, JOB_REQUEUED, WAIT_NO_REASON, false);
  return {};
}

Status Lifecycle::suspend(Job& job) {
  if (job.state == JOB_PENDING) return failure("", kJobPending);
  if (job.completing || job.ended()) return failure("", kAlreadyDone);
  if (job.state == JOB_SUSPENDED) return {};
  if (core_.prologs->holds_back(job)) return failure("", kTransitionState);
  Details& details = job.need_details();
  details.pre_suspend_seconds = core_.now() - job.start_time - details.suspended_seconds;
  details.suspend_time = core_.now();
  job.state = JOB_SUSPENDED;
  core_.committer.job_changed(job.id);
  // Another job gets its processors, so a restarted daemon must know of it.
  core_.committer.when_durable([this, id = job.id] {
    Job* found = core_.state.find(id);
    if (found == nullptr || found->state != JOB_SUSPENDED || found->completing) return;
    core_.launching->signal(*found, SIGSTOP, node::SignalOrder::ALL);
    core_.job_events.tell(&JobListener::job_suspended, *found);
  });
  set_alarm(job);
  return {};
}

void Lifecycle::count_suspension(Job& job) {
  Details& details = job.need_details();
  details.suspended_seconds += std::max<int64_t>(0, core_.now() - details.suspend_time);
  details.suspend_time = core_.now();
}

Status Lifecycle::resume(Job& job) {
  if (job.state == JOB_PENDING) return failure("", kJobPending);
  if (job.completing || job.ended()) return failure("", kAlreadyDone);
  if (job.state != JOB_SUSPENDED) return failure("", kJobNotSuspended);
  count_suspension(job);
  job.state = JOB_RUNNING;
  job.stopped = false;
  core_.committer.job_changed(job.id);
  core_.launching->signal(job, SIGCONT, node::SignalOrder::ALL);
  core_.job_events.tell(&JobListener::job_resumed, job);
  set_alarm(job);
  return {};
}

}  // namespace minke::engine
