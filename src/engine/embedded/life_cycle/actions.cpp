#include "engine/embedded/life_cycle/actions.h"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <unordered_set>
#include <utility>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/answers/queries.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/launching.h"
#include "engine/embedded/life_cycle/dependencies.h"
#include "engine/embedded/life_cycle/done_before.h"
#include "engine/embedded/life_cycle/lifecycle.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/scheduling/world.h"
#include "engine/embedded/state/answered_requests.h"
#include "engine/embedded/state/kept_submission.h"
#include "engine/embedded/steps/steps.h"
#include "model/error.h"
#include "store/job_row.h"
#include "store/store.h"

namespace minke::engine {

using namespace model;

namespace {

// Whether the request names a single component of a heterogeneous job by its id.
template <typename Request>
bool one_component(const Request& request, const Job& job) {
  return std::any_of(request.jobs().begin(), request.jobs().end(), [&](const api::JobSelector& selector) {
    return selector.has_het_offset() ? selector.job_id() == job.het_job_id
                                     : selector.job_id() == job.id && !job.is_het_leader();
  });
}

// Cancelling and killing both end the job.
bool ends_jobs(const api::SignalRequest& request) {
  return request.signal() == 0 || (request.signal() == SIGKILL && !request.batch_only());
}

// Whether it is a further component of a heterogeneous job that waits.
bool waits_for_first(const Job& job) {
  return job.state == JOB_PENDING && job.het_job_id != 0 && !job.is_het_leader();
}

// What the job waits for, told where that is quickly known: it takes time by the kinds of jobs in the queue.
StateReason reason_in_queue(const Core& core, const Job& job) {
  constexpr size_t kMostKinds = 64;
  if (core.world->queue().class_slots() > kMostKinds) return WAIT_NO_REASON;
  return core.scheduling->reason_of(core.scheduling->wait_reasons(), job);
}

}  // namespace

Actions::Actions(Core& core, Queries& queries) : core_(core), notices_(core), queries_(queries) {}

ActionOrder Actions::order_of(const Sender& sender, Reply reply) {
  ActionOrder order;
  order.uid = sender.uid;
  order.sent_again = sender.first_sent != 0;
  order.key = sender.key;
  order.reply = std::move(reply);
  return order;
}

Status Actions::is_changeable(const Job& job) {
  if (job.submission->cron.empty()) return {};
  return failure("", kCronJob);
}

Status Actions::signal_job(Job& job, const api::SignalRequest& request, uint32_t uid) {
  if (request.has_step_id()) {
    if (!job.holds_nodes()) return failure("", kJobNotRunning);
    if (!core_.steps->runs(job.id, request.step_id())) return failure("", kInvalidJobId);
    // srun gets the signal at a job's end like the tasks do. Its request to kill
    // them must not shorten their time.
    if (job.completing) return failure("", kAlreadyDone);
    if (request.signal() == 0) {
      core_.steps->cancel(job, request.step_id());
    } else {
      core_.steps->signal(job, request.step_id(), request.signal());
    }
    return {};
  }
  if (ends_jobs(request)) {
    if (core_.config.cancel_cron_explicitly && !request.cron() && !job.submission->cron.empty())
      return failure("", kCancelCronJob);
    if (job.ended() && !job.completing) return failure("", kAlreadyDone);
    if (job.state == JOB_PENDING && job.het_job_id != 0 && one_component(request.filter(), job))
      return failure("", kNotWholeHetJob);
    // A record that is being cancelled needs no throttle; the array has its own.
    if (job.array && job.id != job.array_job_id) job.array->max_running = 0;
    if (job.queued) job.reason = reason_in_queue(core_, job);
    core_.lifecycle->cancel(job, uid);
    return {};
  }
  if (job.state == JOB_PENDING) return failure("", kJobPending);
  if (job.completing || !job.holds_nodes()) return failure("", kAlreadyDone);
  core_.lifecycle->signal(job, request.signal(), request.batch_only(), request.full(), request.steps_only());
  return {};
}

void Actions::signal(const api::SignalRequest& given, const Sender& sender, Reply reply) {
  const auto request = std::make_shared<const api::SignalRequest>(given);
  const auto matcher = std::make_shared<const JobMatcher>(request->filter(), Viewer());
  ActionOrder order = order_of(sender, std::move(reply));
  order.ends_jobs = !request->has_step_id() && ends_jobs(*request);
  order.changes_waiting = order.ends_jobs;
  order.concerns = [this, request, matcher](const Job& job) {
    const JobRecord record = queries_.full_record(job);
    return matcher->passes(record) && matcher->has_state(record.state());
  };
  order.action = [this, request, uid = sender.uid, concerns = order.concerns](Job& job) -> Status {
    // A filter that finds a component finds the whole job by its first one.
    const bool found = request->filter().jobs().empty() && waits_for_first(job);
    if (found && ends_jobs(*request)) {
      const Job* leader = core_.state.find(job.het_job_id);
      return leader != nullptr && concerns(*leader) ? Status() : failure("", kNotWholeHetJob);
    }
    return signal_job(job, *request, uid);
  };
  order.selectors = request->filter().jobs();
  if (order.ends_jobs)
    order.was_done = [since = sender.first_sent](const JobRecord& job) { return was_cancelled(job, since); };
  if (order.selectors.empty()) {
    // By user, name, state and so on: all matching jobs that the sender may change.
    for (const auto& [id, job] : core_.state.jobs())
      if (job->committed && core_.rights->owns(sender.uid, job->uid) && (!job->ended() || job->completing))
        order.jobs.push_back(id);
  }
  carry_out(core_, std::move(order));
}

Actions::Selectors Actions::named(const google::protobuf::RepeatedPtrField<api::JobSelector>& jobs,
                                  const google::protobuf::RepeatedPtrField<std::string>& names,
                                  uint32_t uid) const {
  Selectors selectors = jobs;
  if (names.empty()) return selectors;
  const WantedValues<std::string_view> wanted(names);
  for (const auto& [id, job] : core_.state.jobs()) {
    if (job->ended() || !core_.rights->owns(uid, job->uid) || (job->het_job_id != 0 && !job->is_het_leader()))
      continue;
    if (wanted.admit(job->submission->brief_spec().name)) selectors.Add()->set_job_id(id);
  }
  return selectors;
}

void Actions::hold(const api::HoldRequest& request, const Sender& sender, Reply reply) {
  ActionOrder order = order_of(sender, std::move(reply));
  order.selectors = named(request.jobs(), request.names(), sender.uid);
  const bool whole = order.selectors.size() == 1 && order.selectors[0].tasks().empty();
  order.was_done = request.kind() == api::HoldRequest::RELEASE ? was_released : was_held;
  order.when_ended = kJobFinished;
  order.action = [this, whole, kind = request.kind(), uid = sender.uid](Job& job) -> Status {
    // For an array, this concerns the waiting tasks.
    if (job.array_job_id != 0 && job.state != JOB_PENDING && whole) return {};
    if (const Status changeable = is_changeable(job); !changeable) return changeable;
    if (kind == api::HoldRequest::RELEASE) {
      // Whoever held the job decides who may release it.
      if (job.priority == 0 && job.reason == WAIT_HELD && !core_.rights->is_operator(uid))
        return failure("an operator holds it", kAccessDenied);
      return core_.lifecycle->release(job);
    }
    return core_.lifecycle->hold(job, kind == api::HoldRequest::USER_HOLD || !core_.rights->is_operator(uid));
  };
  carry_out(core_, std::move(order));
}

void Actions::suspend(const api::SuspendRequest& given, const Sender& sender, Reply reply) {
  const auto request = std::make_shared<const api::SuspendRequest>(given);
  ActionOrder order = order_of(sender, std::move(reply));
  order.selectors = request->jobs();
  order.changes_waiting = false;
  order.was_done = [since = sender.first_sent, resume = request->resume()](const JobRecord& job) {
    return resume ? was_resumed(job, since) : was_suspended(job, since);
  };
  order.action = [this, request, uid = sender.uid](Job& job) -> Status {
    // Others would get its processors and would lose them when it goes on.
    if (!core_.rights->is_operator(uid)) return failure("", kAccessDenied);
    if (const Status changeable = is_changeable(job); !changeable) return changeable;
    if (job.het_job_id != 0 && one_component(*request, job)) return failure("", kNotWholeHetJob);
    // For an array, this concerns the running tasks.
    if (job.is_array_record() && core_.state.find_array(job.array_job_id)->running > 0) return {};
    return request->resume() ? core_.lifecycle->resume(job) : core_.lifecycle->suspend(job);
  };
  carry_out(core_, std::move(order));
}

// Reports why not all may be put first; nothing has been changed yet.
void Actions::check_top(const std::vector<MeantJob>& meant, uint32_t uid, api::ActionReply& result) const {
  for (const MeantJob& one : meant) {
    const Job& job = *core_.state.find(one.job_id);
    int problem = 0;
    if (!core_.rights->owns(uid, job.uid)) {
      problem = kAccessDenied;
    } else if (job.state != JOB_PENDING) {
      problem = meant.size() == 1 ? kJobNotPending : 0;
    } else if (job.priority == 0) {
      problem = kJobHeld;
    } else if (!is_changeable(job)) {
      problem = kCronJob;
    }
    if (problem != 0) add_failure(result, job.id, one.name, Error{problem, {}});
  }
}

// Returns the waiting jobs, each once. Tasks selected from a record get records of their own.
std::vector<Job*> Actions::separate_meant(const std::vector<MeantJob>& meant, api::ActionReply& result) {
  std::vector<Job*> separated_jobs;
  std::unordered_set<const Job*> known;
  for (const MeantJob& one : meant) {
    Job* record = core_.state.find(one.job_id);
    if (record->state != JOB_PENDING) continue;
    if (one.some) core_.scheduling->remove(*record);
    const auto separated = separate(core_, one);
    Job* job = separated ? *separated : nullptr;
    for (Job* changed : {job, record}) {
      if (changed == nullptr || !one.some) continue;
      core_.committer.job_changed(changed->id);
      core_.scheduling->update(*changed);
    }
    if (!separated) {
      add_failure(result, one.job_id, one.name, separated.error());
    } else if (job != nullptr && known.insert(job).second) {
      separated_jobs.push_back(job);
    }
  }
  return separated_jobs;
}

// Their user's other waiting jobs come behind them, in their present order.
void Actions::put_first(std::vector<Job*> order) {
  const std::unordered_set<const Job*> first(order.begin(), order.end());
  const auto others = static_cast<std::ptrdiff_t>(order.size());
  for (const auto& [id, job] : core_.state.jobs()) {
    const bool changes =
        job->state == JOB_PENDING && job->committed && job->priority != 0 && job->uid == order.front()->uid;
    if (changes && !first.contains(job.get())) order.push_back(job.get());
  }
  std::stable_sort(order.begin() + others, order.end(),
                   [](const Job* a, const Job* b) { return a->priority > b->priority; });
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
}

// Reorders the user's own pending jobs: the named ones get the highest priorities that any of them has.
void Actions::top(const api::TopRequest& request, const Sender& sender, Reply reply) {
  api::ActionReply result;
  std::vector<int> missing;
  const std::vector<MeantJob> meant =
      find_meant(core_, core_.rights->viewer(sender.uid), request.jobs(), missing);
  for (const int number : missing)
    add_failure(result, request.jobs(number).job_id(), name_of(request.jobs(number)),
                Error{kInvalidJobId, {}});
  check_top(meant, sender.uid, result);
  if (result.failures_size() > 0) return reply(result);
  std::vector<Job*> order = separate_meant(meant, result);
  if (order.empty()) return reply(result);
  put_first(std::move(order));
  core_.answered->note(sender.key, sender.uid, result);
  core_.committer.when_stored([result, reply = std::move(reply)](const Status& stored) mutable {
    if (!stored) add_failure(result, 0, "", stored.error());
    reply(result);
  });
}

void Actions::notify(const api::NotifyRequest& request, const Sender& sender, Reply reply) {
  ActionOrder order = order_of(sender, std::move(reply));
  *order.selectors.Add() = request.job();
  order.changes_waiting = false;
  order.action = [this, message = request.message()](Job& job) -> Status {
    if (!job.holds_nodes()) return failure("", kJobNotRunning);
    if (job.has_script()) {
      core_.launching->say(job, message);
    } else if (job.submission->interactive) {
      return notices_.say(job, message);
    }
    return {};
  };
  carry_out(core_, std::move(order));
}

void Actions::requeue(const api::RequeueRequest& given, const Sender& sender, Reply reply) {
  const auto request = std::make_shared<const api::RequeueRequest>(given);
  ActionOrder order = order_of(sender, std::move(reply));
  order.selectors = request->jobs();
  order.changes_waiting = false;
  order.was_done = [since = sender.first_sent](const JobRecord& job) { return was_requeued(job, since); };
  order.action = [this, request, uid = sender.uid](Job& job) {
    const bool whole_array =
        job.array_job_id != 0 && request->jobs_size() == 1 && request->jobs(0).tasks().empty();
    // For an array, this concerns the tasks that run or have run.
    if (whole_array && job.state == JOB_PENDING && !request->hold()) return Status();
    if (job.het_job_id != 0 && one_component(*request, job)) return Status(failure("", kNotHetJobLeader));
    if (request->hold() || (job.ended() && !job.completing))
      if (const Status changeable = is_changeable(job); !changeable) return changeable;
    if (job.ended() && !job.completing) {  // it is submitted once more
      JobSpec spec = job.submission->spec();
      const auto charge = core_.accounts->choose(spec, job.uid);
      if (!charge) return Status(failure(charge.error()));
      if (const Status admitted = admit_anew(job, spec, *charge, uid); !admitted) return admitted;
    }
    return core_.lifecycle->requeue(job, request->hold(), request->special_exit());
  };
  bring_back(request->jobs(), sender.uid, [this, order] { carry_out(core_, order); });
}

void Actions::bring_back(const Selectors& selectors, uint32_t uid, std::function<void()> then) {
  store::AccountingQuery query;
  query.asker = uid;
  std::vector<int> missing;
  (void)find_meant(core_, core_.rights->viewer(uid), selectors, missing);
  for (const int number : missing) query.job_ids.push_back(selectors[number].job_id());
  if (query.job_ids.empty()) return then();
  query.ended_since = std::max<int64_t>(1, core_.now() - core_.config.min_job_age_seconds);
  const auto brought = std::make_shared<std::vector<uint32_t>>();
  const auto filter = std::make_shared<api::JobFilter>();
  *filter->mutable_jobs() = selectors;
  const auto matcher = std::make_shared<const JobMatcher>(*filter, Viewer());
  core_.store.query(
      std::move(query), [this, uid, filter, matcher, brought, then = std::move(then)](auto chunk) {
        core_.loop.post([this, uid, filter, matcher, then, brought, chunk = std::move(chunk)] {
          if (!chunk || chunk->empty()) {
            then();
            // Jobs that could not be requeued leave memory again.
            for (const uint32_t id : *brought) {
              const Job* job = core_.state.find(id);
              if (job != nullptr && job->ended()) core_.committer.job_changed(id);
            }
            return;
          }
          for (const store::AccountedJob& stored : *chunk) {
            const JobRecord& record = stored.job.record;
            const bool meant = core_.rights->owns(uid, record.uid()) && matcher->selected(record);
            // A record of tasks that were cancelled while pending is no job that could run again.
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

void Actions::complete_allocation(const api::CompleteAllocationRequest& request, const Sender& sender,
                                  Reply reply) {
  ActionOrder order = order_of(sender, std::move(reply));
  order.selectors.Add()->set_job_id(request.job_id());
  order.was_done = has_ended;
  order.action = [this, status = request.status()](Job& job) {
    return core_.lifecycle->complete_allocation(job, status);
  };
  carry_out(core_, std::move(order));
}

}  // namespace minke::engine
