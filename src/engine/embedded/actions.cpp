#include "engine/embedded/actions.h"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "engine/embedded/core.h"
#include "engine/embedded/dependencies.h"
#include "engine/embedded/kept_submission.h"
#include "engine/embedded/launching.h"
#include "engine/embedded/lifecycle.h"
#include "engine/embedded/nodes.h"
#include "engine/embedded/queries.h"
#include "engine/embedded/rights.h"
#include "engine/embedded/scheduling.h"
#include "engine/embedded/steps.h"
#include "model/error.h"

namespace minke::engine {

using namespace model;

namespace {

std::string name_of(const rpc::JobSelector& selector) {
  std::string name = std::to_string(selector.job_id());
  if (selector.tasks_size() == 1 && selector.tasks(0).first() == selector.tasks(0).last()) {
    name += "_" + std::to_string(selector.tasks(0).first());
  }
  if (selector.has_het_offset()) name += "+" + std::to_string(selector.het_offset());
  return name;
}

void add_failure(rpc::ActionReply& reply, uint32_t job_id, const std::string& name, const Error& error) {
  auto& failure = *reply.add_failures();
  failure.set_job_id(job_id);
  failure.set_job(name);
  failure.set_code(static_cast<uint32_t>(error.code));
  failure.set_message(error.message);
}

// Whether jobs that were named by their ids have a single component of a heterogeneous job among them.
template <typename Request>
bool one_component(const Request& request, const Job& job) {
  return std::any_of(request.jobs().begin(), request.jobs().end(), [&](const rpc::JobSelector& selector) {
    return selector.has_het_offset() ? selector.job_id() == job.het_job_id
                                     : selector.job_id() == job.id && !job.is_het_leader();
  });
}

}  // namespace

std::vector<Job*> Actions::resolve(const rpc::JobSelector& selector, bool together) {
  std::vector<Job*> jobs;
  const auto add = [&](Job* job) {
    if (job != nullptr && job->committed) jobs.push_back(job);
  };
  if (const Job* first = core_.state.find(selector.job_id());
      first != nullptr && first->is_het_leader() && selector.tasks().empty()) {
    for (Job* component : core_.state.components(*first)) {
      if (!selector.has_het_offset() || component->het_offset == selector.het_offset()) add(component);
    }
    return jobs;
  }
  if (selector.has_het_offset()) return jobs;
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
      if (!job->ended()) array = job;
    } else if (selects(selector, *job)) {
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
  // Ranges may overlap: a task is meant once.
  std::sort(waiting.begin(), waiting.end());
  waiting.erase(std::unique(waiting.begin(), waiting.end()), waiting.end());
  core_.scheduling->remove(*array);
  if (together && waiting.size() > 1) {
    const bool all = waiting.size() == array->array->waiting.size();
    jobs.push_back(all ? array : &core_.state.split_tasks(*array, waiting));
    core_.committer.job_changed(array->id);
    if (!all) core_.scheduling->update(*array);
    return jobs;
  }
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

void Actions::for_each(const Selectors& selectors, const rpc::Peer& peer, const Reply& reply,
                       const std::function<Status(Job&)>& action, SlurmError when_ended, bool together) {
  rpc::ActionReply result;
  for (const rpc::JobSelector& selector : selectors) {
    const std::vector<Job*> jobs = resolve(selector, together);
    if (jobs.empty()) {
      const auto stored = core_.store.job(selector.job_id());
      const bool ended =
          stored && *stored && (*stored)->record.end_time() >= core_.now() - core_.config.min_job_age_seconds;
      add_failure(result, selector.job_id(), name_of(selector),
                  Error{ended ? when_ended : kInvalidJobId, {}});
    }
    for (Job* job : jobs) {
      const Status done =
          core_.rights->owns(peer.uid, job->uid) ? action(*job) : Status(failure("", kAccessDenied));
      if (done) {
        result.set_changed(result.changed() + 1);
      } else {
        add_failure(result, job->id, name_of(selector), done.error());
      }
    }
  }
  core_.committer.when_stored(
      [result, reply, name = selectors.empty() ? "" : name_of(selectors[0])](const Status& stored) mutable {
        if (!stored && result.changed() > 0) add_failure(result, 0, name, stored.error());
        reply(result);
      });
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
      if (!job.holds_nodes()) return failure("", kJobNotRunning);
      if (!core_.steps->runs(job.id, request.step_id())) return failure("", kInvalidJobId);
      // The end of a job reaches srun as it reaches the tasks: its wish to kill them must not cut their time
      // short.
      if (job.completing) return failure("", kAlreadyDone);
      if (request.signal() == 0) {
        core_.steps->cancel(job, request.step_id());
      } else {
        core_.steps->signal(job, request.step_id(), request.signal());
      }
      return {};
    }
    if (request.signal() == 0 || (request.signal() == SIGKILL && !request.batch_only())) {
      if (job.ended() && !job.completing) return failure("", kAlreadyDone);
      if (job.state == JOB_PENDING && job.het_job_id != 0 && one_component(request.filter(), job))
        return failure("", kNotWholeHetJob);
      core_.lifecycle->cancel(job, peer.uid);
      return {};
    }
    if (job.state == JOB_PENDING) return failure("", kJobPending);
    if (job.completing || !job.holds_nodes()) return failure("", kAlreadyDone);
    core_.lifecycle->signal(job, request.signal(), request.batch_only(), request.full(),
                            request.steps_only());
    return {};
  };
  if (!request.filter().jobs().empty()) {
    // Tasks that are cancelled together need no records of their own, nor do filters tell one from another.
    for_each(request.filter().jobs(), peer, std::move(reply), act, kAlreadyDone, request.signal() == 0);
    return;
  }
  // By user, name, state …: whatever of these is there, and may be touched.
  google::protobuf::RepeatedPtrField<rpc::JobSelector> selectors;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (!job->committed || !core_.rights->owns(peer.uid, job->uid) || (job->ended() && !job->completing))
      continue;
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

Actions::Selectors Actions::named(const google::protobuf::RepeatedPtrField<rpc::JobSelector>& jobs,
                                  const google::protobuf::RepeatedPtrField<std::string>& names,
                                  const rpc::Peer& peer) const {
  Selectors selectors = jobs;
  if (names.empty()) return selectors;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (job->ended() || !core_.rights->owns(peer.uid, job->uid) ||
        (job->het_job_id != 0 && !job->is_het_leader()))
      continue;
    const std::string name = job->submission->spec().name();
    if (std::find(names.begin(), names.end(), name) != names.end()) selectors.Add()->set_job_id(id);
  }
  return selectors;
}

void Actions::hold(const rpc::HoldRequest& request, const rpc::Peer& peer, Reply reply) {
  const Selectors selectors = named(request.jobs(), request.names(), peer);
  for_each(selectors, peer, std::move(reply), [&](Job& job) -> Status {
    // Of an array, what waits is meant.
    if (job.array_job_id != 0 && job.state != JOB_PENDING && selectors.size() == 1 &&
        selectors.Get(0).tasks().empty()) {
      return {};
    }
    if (request.kind() == rpc::HoldRequest::RELEASE) {
      // Who held it decides who may release it.
      if (job.priority == 0 && job.reason == WAIT_HELD && !core_.rights->is_operator(peer.uid))
        return failure("an operator holds it", kAccessDenied);
      return core_.lifecycle->release(job);
    }
    return core_.lifecycle->hold(
        job, request.kind() == rpc::HoldRequest::USER_HOLD || !core_.rights->is_operator(peer.uid));
  });
}

void Actions::suspend(const rpc::SuspendRequest& request, const rpc::Peer& peer, Reply reply) {
  for_each(request.jobs(), peer, std::move(reply), [&](Job& job) -> Status {
    // Its processors would be lent to others, and be missed when it goes on.
    if (!core_.rights->is_operator(peer.uid)) return failure("", kAccessDenied);
    if (job.het_job_id != 0 && one_component(request, job)) return failure("", kNotWholeHetJob);
    // Of an array, what runs is meant.
    if (job.is_array_record() && core_.state.find_array(job.array_job_id)->running > 0) return {};
    return request.resume() ? core_.lifecycle->resume(job) : core_.lifecycle->suspend(job);
  });
}

// The user's own pending jobs change places: those named take the highest priorities that any of them has.
void Actions::top(const rpc::TopRequest& request, const rpc::Peer& peer, Reply reply) {
  std::vector<Job*> first;
  rpc::ActionReply result;
  for (const rpc::JobSelector& selector : request.jobs()) {
    const std::vector<Job*> jobs = resolve(selector);
    Error problem{jobs.empty() ? kInvalidJobId : 0, {}};
    for (Job* job : jobs) {
      if (!core_.rights->owns(peer.uid, job->uid)) {
        problem.code = kAccessDenied;
      } else if (job->state != JOB_PENDING) {
        problem.code = jobs.size() == 1 ? kJobNotPending : 0;
      } else if (job->priority == 0) {
        problem.code = kJobHeld;
      } else if (std::find(first.begin(), first.end(), job) == first.end()) {
        first.push_back(job);
      }
    }
    if (problem.code != 0) {
      add_failure(result, selector.job_id(), name_of(selector), problem);
      return reply(result);
    }
  }
  std::vector<Job*> others;
  for (const auto& [id, job] : core_.state.jobs()) {
    const bool changes = job->state == JOB_PENDING && job->committed && job->priority != 0 &&
                         !first.empty() && job->uid == first.front()->uid;
    if (changes && std::find(first.begin(), first.end(), job.get()) == first.end())
      others.push_back(job.get());
  }
  std::stable_sort(others.begin(), others.end(),
                   [](const Job* a, const Job* b) { return a->priority > b->priority; });
  std::vector<Job*> order = first;
  order.insert(order.end(), others.begin(), others.end());
  std::vector<uint32_t> priorities;
  for (const Job* job : order) priorities.push_back(job->priority);
  std::sort(priorities.rbegin(), priorities.rend());
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i]->priority == priorities[i]) continue;
    order[i]->priority = priorities[i];
    order[i]->fixed_priority = true;
    core_.committer.job_changed(order[i]->id);
    core_.scheduling->update(*order[i]);
  }
  core_.committer.when_stored([result, reply = std::move(reply)](const Status& stored) mutable {
    if (!stored) add_failure(result, 0, "", stored.error());
    reply(result);
  });
}

Actions::Actions(Core& core, Queries& queries) : core_(core), notices_(core.loop), queries_(queries) {}

void Actions::notify(const rpc::NotifyRequest& request, const rpc::Peer& peer, Reply reply) {
  google::protobuf::RepeatedPtrField<rpc::JobSelector> selectors;
  *selectors.Add() = request.job();
  for_each(selectors, peer, std::move(reply), [&](Job& job) -> Status {
    if (!job.holds_nodes()) return failure("", kJobNotRunning);
    if (job.has_script()) {
      core_.launching->say(job, request.message());
    } else if (job.submission->interactive) {
      return notices_.say(job, request.message());
    }
    return {};
  });
}

void Actions::requeue(const rpc::RequeueRequest& request, const rpc::Peer& peer, Reply reply) {
  bring_back(request.jobs(), [this, request, peer, reply = std::move(reply)] {
    for_each(request.jobs(), peer, reply, [&](Job& job) {
      const bool whole_array =
          job.array_job_id != 0 && request.jobs_size() == 1 && request.jobs(0).tasks().empty();
      // Of an array, what runs or has run is meant.
      if (whole_array && job.state == JOB_PENDING && !request.hold()) return Status();
      if (job.het_job_id != 0 && one_component(request, job)) return Status(failure("", kNotHetJobLeader));
      return core_.lifecycle->requeue(job, request.hold(), request.special_exit());
    });
  });
}

void Actions::bring_back(const Selectors& selectors, std::function<void()> then) {
  store::AccountingQuery query;
  for (const rpc::JobSelector& selector : selectors) {
    if (resolve(selector).empty()) query.job_ids.push_back(selector.job_id());
  }
  if (query.job_ids.empty()) return then();
  query.ended_since = std::max<int64_t>(1, core_.now() - core_.config.min_job_age_seconds);
  const auto brought = std::make_shared<std::vector<uint32_t>>();
  core_.store.query(std::move(query), [this, selectors, brought, then = std::move(then)](auto chunk) {
    core_.loop.post([this, selectors, then, brought, chunk = std::move(chunk)] {
      if (!chunk || chunk->empty()) {
        then();
        // What could not be requeued leaves again.
        for (const uint32_t id : *brought) {
          const Job* job = core_.state.find(id);
          if (job != nullptr && job->ended()) core_.committer.job_changed(id);
        }
        return;
      }
      for (const store::AccountedJob& stored : *chunk) {
        const JobRecord& record = stored.job.record;
        const bool meant = std::any_of(selectors.begin(), selectors.end(),
                                       [&](const auto& selector) { return selects(selector, record); });
        // The record of tasks that were cancelled while they waited is no job that could run again.
        const bool waited = record.array_job_id() != 0 && !record.has_array_task_id();
        if (!meant || waited || record.het_job_id() != 0 || stored.job.script.empty() ||
            core_.state.find(record.job_id()) != nullptr) {
          continue;
        }
        Submission made =
            make_submission(stored.job.spec_id, stored.spec, core_.nodes->default_partition().name());
        made.script = core_.state.intern(stored.job.script);
        made.environment = core_.state.intern(stored.job.environment);
        const uint32_t array = record.array_job_id();
        const bool first_of_array = array != 0 && core_.state.find_array(array) == nullptr;
        brought->push_back(record.job_id());
        core_.state.add(
            core_.state.job_of(stored.job, keep_submission(core_, record.uid(), std::move(made))));
        if (first_of_array) {
          if (const auto outcome = core_.store.array_outcome(array)) {
            core_.state.find_array(array)->ended = outcome->ended;
            core_.state.find_array(array)->succeeded = outcome->succeeded;
          }
          core_.state.set_throttle(array, stored.spec.array().max_running());
        }
      }
    });
  });
}

void Actions::complete_allocation(const rpc::CompleteAllocationRequest& request, const rpc::Peer& peer,
                                  Reply reply) {
  google::protobuf::RepeatedPtrField<rpc::JobSelector> selectors;
  selectors.Add()->set_job_id(request.job_id());
  for_each(selectors, peer, std::move(reply),
           [&](Job& job) { return core_.lifecycle->complete_allocation(job, request.status()); });
}

}  // namespace minke::engine
