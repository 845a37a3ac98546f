// What happens to running or ending jobs by the clock alone: time limits, warnings, and the end of patience
// with processes that do not end.
#include "engine/embedded/life_cycle/lifecycle.h"

#include <algorithm>
#include <csignal>

#include "engine/embedded/core.h"
#include "engine/embedded/launching/launching.h"
#include "engine/embedded/scheduling/nodes.h"
#include "model/job_spec.pb.h"
#include "node/launch.pb.h"

namespace minke::engine {

using namespace model;

namespace {

// --signal=USR1@0 and USR1@ set no time before the end, and so no signal, as in Slurm.
bool wants_warning(const Submission& submission) {
  return submission.warning_signal != 0 && submission.warning_seconds != 0;
}

// When --signal is due. Some seconds after the start at the earliest: before, the signal would end a script
// that has not set its trap yet. (Slurm checks only every half minute.)
int64_t warning_time(const Job& job) {
  constexpr int64_t kLeastSeconds = 10;
  return std::max(job.start_time + kLeastSeconds, job.limit_end() - job.submission->warning_seconds);
}

}  // namespace

int64_t Lifecycle::last_start(const Job& job) const {
  if (job.submission->deadline == 0) return 0;
  const JobSpec spec = job.submission->spec();
  int64_t minutes = 1;  // what asks for no time has a minute at least, as in Slurm
  if (spec.time_min_minutes() != 0) {
    minutes = spec.time_min_minutes();
  } else if (job.time_limit_minutes != kUnlimited && spec.has_time_limit_minutes()) {
    minutes = job.time_limit_minutes;
  }
  return std::max<int64_t>(1, job.submission->deadline - minutes * 60);
}

int64_t Lifecycle::tolerated_seconds(const Job& job) const {
  constexpr int64_t kForever = int64_t{10} * 365 * 86400;
  const PartitionRecord* partition = core_.nodes->find_partition(job.details->partition);
  if (partition == nullptr || !partition->has_over_time_limit_minutes()) return 0;
  const uint32_t minutes = partition->over_time_limit_minutes();
  return minutes == kUnlimited ? kForever : int64_t{minutes} * 60;
}

void Lifecycle::set_alarm(Job& job) {
  int64_t next = 0;
  const auto consider = [&](int64_t time) {
    if (time != 0 && (next == 0 || time < next)) next = time;
  };
  if (job.state == JOB_PENDING) {
    if (job.eligible_time > core_.now()) consider(job.eligible_time);
    if (const int64_t latest = last_start(job); latest != 0) consider(latest + 1);
  } else if (job.completing) {
    consider(job.details->kill_time);
  } else if (job.state == JOB_RUNNING && job.grace_end() != 0) {
    consider(std::max(core_.now(), job.grace_end()));
    if (job.time_limit_minutes != kUnlimited) consider(job.limit_end());
  } else if (job.state == JOB_RUNNING && job.time_limit_minutes != kUnlimited) {
    const int64_t end = job.limit_end();
    consider(end > core_.now() ? end : end + tolerated_seconds(job));
    const Submission& submission = *job.submission;
    if (wants_warning(submission) && !job.details->warned) {
      consider(warning_time(job));
    }
    consider(core_.job_events.next_mark(job));
  }
  if (next == 0) {
    core_.alarms.cancel(job.id);
  } else {
    core_.alarms.set(job.id, next);
  }
}

void Lifecycle::alarm(uint32_t job_id) {
  Job* job = core_.state.find(job_id);
  if (job == nullptr) return;
  const int64_t now = core_.now();
  if (job->state == JOB_PENDING) {
    if (const int64_t latest = last_start(*job); latest != 0 && now > latest) {
      finish(*job, JOB_DEADLINE, FAIL_DEADLINE, 0, now);
      return;
    }
    core_.job_events.tell(&JobListener::job_due, *job);
    set_alarm(*job);
    return;
  }
  if (job->completing) {
    if (job->details->kill_time != 0 && now >= job->details->kill_time) {
      job->details->kill_time = 0;
      core_.launching->signal(*job, SIGKILL, node::SignalOrder::ALL);
    }
    set_alarm(*job);
    return;
  }
  if (job->state != JOB_RUNNING) return;
  if (const int64_t grace = job->grace_end(); grace != 0 && now >= grace) return give_way(*job);
  if (job->time_limit_minutes == kUnlimited) return;
  core_.job_events.tell(&JobListener::mark_reached, *job);
  const int64_t end = job->limit_end();
  if (now >= end + tolerated_seconds(*job)) return time_out(*job);
  const Submission& submission = *job->submission;
  if (wants_warning(submission) && !job->details->warned && now >= warning_time(*job)) {
    job->details->warned = true;
    signal(*job, submission.warning_signal, submission.warning_batch_only, false,
           !submission.warning_batch_only);
  }
  set_alarm(*job);
}

}  // namespace minke::engine
