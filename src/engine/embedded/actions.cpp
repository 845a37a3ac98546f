#include "engine/embedded/actions.h"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "engine/embedded/core.h"
#include "engine/embedded/dependencies.h"
#include "engine/embedded/lifecycle.h"
#include "engine/embedded/nodes.h"
#include "engine/embedded/queries.h"
#include "engine/embedded/scheduling.h"
#include "engine/embedded/steps.h"
#include "model/error.h"
#include "submit/update.h"

namespace minke::engine {

using namespace model;

namespace {

bool may_change(const rpc::Peer& peer, const Job& job) {
  return peer.uid == job.uid || peer.uid == 0 || peer.uid == geteuid();
}

std::string name_of(const rpc::JobSelector& selector) {
  std::string name = std::to_string(selector.job_id());
  if (selector.tasks_size() == 1 && selector.tasks(0).first() == selector.tasks(0).last()) {
    name += "_" + std::to_string(selector.tasks(0).first());
  }
  return name;
}

void add_failure(rpc::ActionReply& reply, uint32_t job_id, const std::string& name, const Error& error) {
  auto& failure = *reply.add_failures();
  failure.set_job_id(job_id);
  failure.set_job(name);
  failure.set_code(static_cast<uint32_t>(error.code));
  failure.set_message(error.message);
}

}  // namespace

std::vector<Job*> Actions::resolve(const rpc::JobSelector& selector) {
  std::vector<Job*> jobs;
  const auto add = [&](Job* job) {
    if (job != nullptr && job->committed) jobs.push_back(job);
  };
  if (selector.tasks().empty()) {
    if (const ArrayGroup* group = core_.state.find_array(selector.job_id())) {
      for (const uint32_t id : group->jobs) add(core_.state.find(id));
    } else {
      add(core_.state.find(selector.job_id()));
    }
    return jobs;
  }
  const ArrayGroup* group = core_.state.find_array(selector.job_id());
  if (group == nullptr) return jobs;
  Job* array = nullptr;
  for (const uint32_t id : group->jobs) {
    Job* job = core_.state.find(id);
    if (job->is_array_record()) {
      array = job;
    } else if (selects(selector, id, job->array_job_id, job->array_task)) {
      add(job);
    }
  }
  if (array == nullptr) return jobs;
  std::vector<uint32_t> waiting;
  for (const IndexRange& range : selector.tasks()) {
    const uint32_t step = std::max(1u, range.step());
    for (uint64_t index = range.first(); index <= range.last() && index < core_.config.max_array_size;
         index += step) {
      if (array->array->waiting.contains(static_cast<uint32_t>(index)))
        waiting.push_back(static_cast<uint32_t>(index));
    }
  }
  if (waiting.empty()) return jobs;
  core_.scheduling->remove(*array);
  array->queued = false;
  for (const uint32_t index : waiting) {
    Job& task = core_.state.split_task(*array, index);
    core_.committer.job_changed(task.id);
    if (task.submission->uses_dependencies) core_.dependencies->watch(task);
    core_.scheduling->update(task);
    jobs.push_back(&task);
    if (&task == array) break;
  }
  core_.committer.job_changed(array->id);
  core_.scheduling->update(*array);
  return jobs;
}

template <typename Selectors, typename Action>
void Actions::for_each(const Selectors& selectors, const rpc::Peer& peer, Reply reply, Action action,
                       SlurmError when_ended) {
  rpc::ActionReply result;
  for (const rpc::JobSelector& selector : selectors) {
    const std::vector<Job*> jobs = resolve(selector);
    if (jobs.empty()) {
      const auto stored = core_.store.job(selector.job_id());
      const bool ended =
          stored && *stored && (*stored)->record.end_time() >= core_.now() - core_.config.min_job_age_seconds;
      add_failure(result, selector.job_id(), name_of(selector),
                  Error{ended ? when_ended : kInvalidJobId, {}});
    }
    for (Job* job : jobs) {
      const Status done = may_change(peer, *job) ? action(*job) : Status(failure("", kAccessDenied));
      if (done) {
        result.set_changed(result.changed() + 1);
      } else {
        add_failure(result, job->id, name_of(selector), done.error());
      }
    }
  }
  core_.committer.when_durable([result, reply = std::move(reply)] { reply(result); });
}

bool Actions::filter_matches(const rpc::JobFilter& filter, const Job& job) {
  const JobRecord record = queries_.full_record(job);
  return passes(filter, record) &&
         (filter.states().empty() || std::find(filter.states().begin(), filter.states().end(),
                                               static_cast<int>(record.state())) != filter.states().end());
}

void Actions::signal(const rpc::SignalRequest& request, const rpc::Peer& peer, Reply reply) {
  const auto act = [&](Job& job) -> Status {
    if (!filter_matches(request.filter(), job)) return {};
    if (request.has_step_id()) {
      if (job.state != JOB_RUNNING) return failure("", kJobNotRunning);
      core_.steps->signal(job, request.step_id(), request.signal() == 0 ? SIGTERM : request.signal());
      return {};
    }
    if (request.signal() == 0 || (request.signal() == SIGKILL && !request.batch_only())) {
      if (job.ended() && !job.completing) return failure("", kAlreadyDone);
      core_.lifecycle->cancel(job, peer.uid);
      return {};
    }
    if (job.state == JOB_PENDING) return failure("", kJobPending);
    if (job.state != JOB_RUNNING) return failure("", kAlreadyDone);
    core_.lifecycle->signal(job, request.signal(), request.batch_only(), request.full(),
                            request.steps_only());
    return {};
  };
  if (!request.filter().jobs().empty()) {
    for_each(request.filter().jobs(), peer, std::move(reply), act);
    return;
  }
  // By user, name, state …: whatever of these is there, and may be touched.
  google::protobuf::RepeatedPtrField<rpc::JobSelector> selectors;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (!job->committed || !may_change(peer, *job) || (job->ended() && !job->completing)) continue;
    if (!filter_matches(request.filter(), *job)) continue;
    if (job->array_job_id != 0 && !job->array) {
      auto& selector = *selectors.Add();
      selector.set_job_id(job->array_job_id);
      auto& task = *selector.add_tasks();
      task.set_first(job->array_task);
      task.set_last(job->array_task);
    } else {
      selectors.Add()->set_job_id(id);
    }
  }
  for_each(selectors, peer, std::move(reply), act);
}

void Actions::hold(const rpc::HoldRequest& request, const rpc::Peer& peer, Reply reply) {
  for_each(request.jobs(), peer, std::move(reply), [&](Job& job) -> Status {
    // Of an array, what waits is meant.
    if (job.array_job_id != 0 && job.state != JOB_PENDING && request.jobs_size() == 1 &&
        request.jobs(0).tasks().empty()) {
      return {};
    }
    if (request.kind() == rpc::HoldRequest::RELEASE) return core_.lifecycle->release(job);
    return core_.lifecycle->hold(job, request.kind() == rpc::HoldRequest::USER_HOLD || peer.uid == job.uid);
  });
}

void Actions::requeue(const rpc::RequeueRequest& request, const rpc::Peer& peer, Reply reply) {
  for_each(request.jobs(), peer, std::move(reply),
           [&](Job& job) { return core_.lifecycle->requeue(job, request.hold()); });
}

void Actions::complete_allocation(const rpc::CompleteAllocationRequest& request, const rpc::Peer& peer,
                                  Reply reply) {
  google::protobuf::RepeatedPtrField<rpc::JobSelector> selectors;
  selectors.Add()->set_job_id(request.job_id());
  for_each(selectors, peer, std::move(reply),
           [&](Job& job) { return core_.lifecycle->complete_allocation(job, request.status()); });
}

Status Actions::update_job(Job& job, const rpc::UpdateJobRequest& request) {
  if (job.ended()) return failure("", kJobFinished);
  JobSpec spec = job.submission->spec();
  const JobSpec before = spec;
  // The limit in force stands for the one asked for, so that "+10" counts from it.
  if (job.time_limit_minutes != kUnlimited || spec.has_time_limit_minutes()) {
    spec.set_time_limit_minutes(job.time_limit_minutes);
  }
  bool time_limit = false, throttle = false, placement = false, dependencies = false, begin = false,
       priority = false;
  for (const rpc::Field& field : request.fields()) {
    const auto changed = submit::apply_update(spec, field.name(), field.value(), core_.now());
    if (!changed) return failure(changed.error());
    switch (*changed) {
      case submit::Updated::kTimeLimit:
        time_limit = true;
        break;
      case submit::Updated::kArrayThrottle:
        throttle = true;
        break;
      case submit::Updated::kResources:
        placement = true;
        break;
      case submit::Updated::kDependency:
        dependencies = true;
        break;
      case submit::Updated::kBeginTime:
        begin = true;
        break;
      case submit::Updated::kPriority:
        priority = true;
        break;
      case submit::Updated::kOther:
        break;
    }
  }
  if (job.state == JOB_RUNNING && (placement || dependencies || begin || priority))
    return failure("", kJobNotPending);
  if (dependencies) {
    if (const Status known = core_.dependencies->check(spec); !known) return known;
  }
  if (placement || (time_limit && job.state == JOB_PENDING)) {
    std::string partitions;
    if (const Status possible = core_.scheduling->check(spec, partitions); !possible) return possible;
    spec.set_partition(partitions);
  }
  core_.scheduling->remove(job);
  job.queued = false;
  // Tasks of an array share their submission: the changed one gets its own, under its own id.
  auto changed =
      std::make_shared<Submission>(make_submission(job.id, spec, core_.nodes->default_partition().name()));
  changed->script = job.submission->script;
  changed->environment = job.submission->environment;
  job.submission = std::move(changed);
  core_.committer.spec_changed({job.id, spec});
  if (time_limit) {
    job.time_limit_minutes = spec.has_time_limit_minutes() && spec.time_limit_minutes() != 0
                                 ? spec.time_limit_minutes()
                                 : kUnlimited;
    if (job.state == JOB_RUNNING) core_.scheduling->time_limit_changed(job);
  } else if (!before.has_time_limit_minutes()) {
    // Still the default: not made explicit by an update of something else.
  }
  if (throttle && job.array) job.array->max_running = spec.array().max_running();
  if (spec.has_requeue()) job.requeue_allowed = spec.requeue();
  if (begin) job.eligible_time = std::max(core_.now(), spec.begin_time());
  if (dependencies) {
    job.need_details().dependencies.clear();
    core_.dependencies->watch(job);
  }
  if (priority && job.priority != 0) job.priority = std::max(1u, initial_priority(spec, job.id));
  if (priority && spec.has_priority()) {
    job.priority = spec.priority();
    if (job.priority == 0) job.reason = WAIT_HELD_USER;
  }
  core_.committer.job_changed(job.id);
  core_.lifecycle->set_alarm(job);
  if (job.state == JOB_PENDING) core_.scheduling->update(job);
  return {};
}

void Actions::update(const rpc::UpdateJobRequest& request, const rpc::Peer& peer, Reply reply) {
  google::protobuf::RepeatedPtrField<rpc::JobSelector> selectors;
  if (request.name().empty()) {
    *selectors.Add() = request.job();
  } else {
    for (const auto& [id, job] : core_.state.jobs()) {
      if (!job->ended() && job->submission->spec().name() == request.name()) selectors.Add()->set_job_id(id);
    }
    if (selectors.empty()) selectors.Add();
  }
  for_each(
      selectors, peer, std::move(reply), [&](Job& job) { return update_job(job, request); }, kJobFinished);
}

}  // namespace minke::engine
