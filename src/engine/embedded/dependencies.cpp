#include "engine/embedded/dependencies.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/embedded/core.h"
#include "engine/embedded/lifecycle.h"
#include "engine/embedded/mail.h"
#include "engine/embedded/scheduling.h"
#include "model/error.h"
#include "model/nobody.h"

namespace minke::engine {

using namespace model;

namespace {

bool over(const Job& job) {
  return job.ended() && !job.completing;
}

// Jobs that began, whatever became of them; a cancelled one counts as begun, as in Slurm.
bool has_begun(const Job& job) {
  return job.state != JOB_PENDING;
}

DependencyStatus fulfilled_if(bool yes) {
  return yes ? DEPENDENCY_FULFILLED : DEPENDENCY_FAILED;
}

DependencyStatus of_outcome(DependencyType type, bool succeeded) {
  switch (type) {
    case AFTER_OK:
    case AFTER_CORR:
      return fulfilled_if(succeeded);
    case AFTER_NOT_OK:
      return fulfilled_if(!succeeded);
    default:
      return DEPENDENCY_FULFILLED;
  }
}

}  // namespace

Status Dependencies::check(JobSpec& spec) const {
  for (Dependency& term : *spec.mutable_dependencies()) {
    if (term.type() == SINGLETON) continue;
    if (term.job_id() == 0) return failure("there is no job 0", kDependency);
    if (!term.has_array_task_id()) term.set_whole_array(core_.state.find_array(term.job_id()) != nullptr);
    if (core_.state.find(term.job_id()) != nullptr || core_.state.find_array(term.job_id()) != nullptr)
      continue;
    const auto stored = core_.store.job(term.job_id());
    if (!stored) return failure(stored.error());
    // Not known (any more): nothing is waited for, as in Slurm. Old scripts have old numbers in them.
    if (!*stored) term.set_status(DEPENDENCY_FULFILLED);
  }
  return {};
}

Status Dependencies::check_circle(const Job& job, const JobSpec& spec) const {
  std::vector<uint32_t> to_visit;
  std::unordered_set<uint32_t> visited;
  const auto visit = [&](const auto& terms) {
    for (const Dependency& term : terms) {
      if (term.type() != SINGLETON && visited.insert(term.job_id()).second) to_visit.push_back(term.job_id());
    }
  };
  visit(spec.dependencies());
  while (!to_visit.empty()) {
    const uint32_t id = to_visit.back();
    to_visit.pop_back();
    if (id == job.id || (job.array_job_id != 0 && id == job.array_job_id && !job.is_array_record() &&
                         job.array_task == kNoTask)) {
      return failure("the job would wait for itself", kCircularDependency);
    }
    const Job* other = core_.state.find(id);
    if (other != nullptr && other->state == JOB_PENDING && other->details)
      visit(other->details->dependencies);
  }
  return {};
}

void Dependencies::watch(Job& job) {
  if (!job.submission->uses_dependencies) return;
  Details& details = job.need_details();
  if (details.dependencies.empty()) {
    const JobSpec spec = job.submission->spec();
    details.dependencies.assign(spec.dependencies().begin(), spec.dependencies().end());
  }
  for (Dependency& term : details.dependencies) {
    if (term.type() == SINGLETON) {
      singletons_.insert(job.id);
    } else {
      waiting_for_[term.job_id()].insert(job.id);
    }
    if (term.status() == DEPENDENCY_UNFULFILLED) term.set_status(evaluate(term, job));
    if (term.status() == DEPENDENCY_UNFULFILLED && term.type() == AFTER_CORR && job.is_array_record()) {
      core_.loop.post([this, id = job.id] { release_corresponding(id, 0); });
    }
  }
}

void Dependencies::release_corresponding(uint32_t array_job_id, uint32_t from) {
  constexpr uint32_t kLooksPerTurn = 200;
  Job* array = core_.state.find(array_job_id);
  if (array == nullptr || !array->is_array_record() || !array->details) return;
  const auto term = std::find_if(
      array->details->dependencies.begin(), array->details->dependencies.end(), [](const Dependency& one) {
        return one.type() == AFTER_CORR && !one.has_array_task_id() && one.status() == DEPENDENCY_UNFULFILLED;
      });
  if (term == array->details->dependencies.end()) return;
  const uint32_t other = term->job_id();
  const ArrayGroup* group = core_.state.find_array(other);
  if (group != nullptr && group->ended == 0) return;  // their ends will be told one by one
  ArraySpec waiting;
  array->array->waiting.write(waiting);
  uint32_t looks = 0;
  for (const IndexRange& range : waiting.ranges()) {
    for (uint64_t index = range.first(); index <= range.last(); index += std::max(1u, range.step())) {
      if (index < from) continue;
      if (looks++ == kLooksPerTurn) {
        core_.loop.post([this, array_job_id, index = static_cast<uint32_t>(index)] {
          release_corresponding(array_job_id, index);
        });
        return;
      }
      release_task(*array, static_cast<uint32_t>(index), other);
      if (!array->is_array_record()) return;  // that was the last one
    }
  }
}

bool Dependencies::release_task(Job& array, uint32_t index, uint32_t other) {
  Job probe;  // the task as it would be
  probe.array_task = index;
  Dependency term;
  term.set_type(AFTER_CORR);
  term.set_job_id(other);
  if (evaluate(term, probe) == DEPENDENCY_UNFULFILLED) return false;
  core_.scheduling->remove(array);
  Job& task = core_.state.split_task(array, index);
  for (Dependency& one : task.need_details().dependencies) {
    if (one.status() == DEPENDENCY_UNFULFILLED) one.set_status(evaluate(one, task));
  }
  watch(task);
  core_.committer.job_changed(task.id);
  core_.committer.job_changed(array.id);
  if (never(task)) core_.mail->never_starts(task);
  if (never(task) && task.submission->kill_on_invalid_dependency) {
    core_.lifecycle->cancel(task, model::kNobody);
  } else {
    if (fulfilled(task)) task.eligible_time = std::max(task.eligible_time, core_.now());
    core_.scheduling->update(task);
  }
  if (&task != &array) core_.scheduling->update(array);
  return true;
}

bool Dependencies::fulfilled(const Job& job) const {
  if (!job.details || job.details->dependencies.empty()) return true;
  const auto& terms = job.details->dependencies;
  const auto done = [](const Dependency& term) { return term.status() == DEPENDENCY_FULFILLED; };
  return job.submission->any_dependency ? std::any_of(terms.begin(), terms.end(), done)
                                        : std::all_of(terms.begin(), terms.end(), done);
}

bool Dependencies::never(const Job& job) const {
  if (!job.details || job.details->dependencies.empty()) return false;
  const auto& terms = job.details->dependencies;
  const auto failed = [](const Dependency& term) { return term.status() == DEPENDENCY_FAILED; };
  return job.submission->any_dependency ? std::all_of(terms.begin(), terms.end(), failed)
                                        : std::any_of(terms.begin(), terms.end(), failed);
}

DependencyStatus Dependencies::evaluate(const Dependency& term, const Job& job) const {
  if (term.type() == SINGLETON) {
    const std::string name = job.submission->spec().name();
    for (const auto& [id, other] : core_.state.jobs()) {
      if (id >= job.id) break;
      if (other->uid != job.uid || over(*other) ||
          other->array_job_id == (job.array_job_id ? job.array_job_id : ~0u)) {
        continue;
      }
      if (other->submission->spec().name() == name) return DEPENDENCY_UNFULFILLED;
    }
    return DEPENDENCY_FULFILLED;
  }
  // "after" may want some minutes to have passed since the job began.
  const auto begun = [&](const Job& other) {
    if (!has_begun(other)) return DEPENDENCY_UNFULFILLED;
    const int64_t due = other.start_time + int64_t{term.delay_minutes()} * 60;
    if (other.start_time != 0 && due > core_.now()) {
      core_.alarms.set(job.id, due);
      return DEPENDENCY_UNFULFILLED;
    }
    return DEPENDENCY_FULFILLED;
  };
  const auto task = [&](uint32_t index) -> DependencyStatus {
    if (const Job* other = core_.state.find_task(term.job_id(), index)) {
      if (term.type() == AFTER) return begun(*other);
      return over(*other) ? of_outcome(term.type(), other->state == JOB_COMPLETE) : DEPENDENCY_UNFULFILLED;
    }
    const auto stored = core_.store.array_task(term.job_id(), index);
    if (!stored || !*stored) return DEPENDENCY_FAILED;
    return of_outcome(term.type(), (*stored)->record.state() == JOB_COMPLETE);
  };
  if (term.has_array_task_id()) return task(term.array_task_id());
  if (term.type() == AFTER_CORR && job.array_task != kNoTask) return task(job.array_task);

  if (const ArrayGroup* group = core_.state.find_array(term.job_id())) {
    const auto all = [&](auto predicate) {
      return std::all_of(group->jobs.begin(), group->jobs.end(),
                         [&](uint32_t id) { return predicate(*core_.state.find(id)); });
    };
    if (term.type() == AFTER) {
      DependencyStatus worst = DEPENDENCY_FULFILLED;
      for (const uint32_t id : group->jobs) {
        if (begun(*core_.state.find(id)) != DEPENDENCY_FULFILLED) worst = DEPENDENCY_UNFULFILLED;
      }
      return worst;
    }
    // One task that failed settles "afterok" at once.
    if (term.type() == AFTER_OK && group->ended > group->succeeded) return DEPENDENCY_FAILED;
    if (!all(over)) return DEPENDENCY_UNFULFILLED;
    // Task by task instead: see release_corresponding().
    if (term.type() == AFTER_CORR && job.is_array_record() && group->ended != group->succeeded)
      return DEPENDENCY_UNFULFILLED;
    if (term.type() == AFTER_NOT_OK) return fulfilled_if(group->ended > group->succeeded);
    return of_outcome(term.type(), group->ended == group->succeeded);
  }
  if (const Job* other = core_.state.find(term.job_id())) {
    if (term.type() == AFTER) return begun(*other);
    return over(*other) ? of_outcome(term.type(), other->state == JOB_COMPLETE) : DEPENDENCY_UNFULFILLED;
  }
  const auto stored = core_.store.job(term.job_id());
  if (!stored || !*stored) return DEPENDENCY_FAILED;
  if ((*stored)->record.array_job_id() != 0) {
    const auto outcome = core_.store.array_outcome(term.job_id());
    if (outcome && term.type() == AFTER_CORR && job.is_array_record() && outcome->ended != outcome->succeeded)
      return DEPENDENCY_UNFULFILLED;
    return outcome ? of_outcome(term.type(), outcome->ended == outcome->succeeded) : DEPENDENCY_FAILED;
  }
  return of_outcome(term.type(), (*stored)->record.state() == JOB_COMPLETE);
}

void Dependencies::look_again(uint32_t job_id) {
  Job* job = core_.state.find(job_id);
  if (job == nullptr || job->state != JOB_PENDING || !job->details) return;
  bool changed = false;
  for (Dependency& term : job->details->dependencies) {
    if (term.status() != DEPENDENCY_UNFULFILLED) continue;
    term.set_status(evaluate(term, *job));
    changed |= term.status() != DEPENDENCY_UNFULFILLED;
  }
  if (!changed) return;
  if (never(*job)) core_.mail->never_starts(*job);
  if (never(*job) && job->submission->kill_on_invalid_dependency) {
    core_.lifecycle->cancel(*job, model::kNobody);
    return;
  }
  if (fulfilled(*job) && job->eligible_time < core_.now()) job->eligible_time = core_.now();
  core_.committer.job_changed(job_id);
  core_.scheduling->update(*job);
}

void Dependencies::notify(uint32_t job_id, uint32_t array_job_id) {
  std::vector<uint32_t> jobs;
  for (const uint32_t id : {job_id, array_job_id}) {
    const auto waiting = waiting_for_.find(id);
    if (id == 0 || waiting == waiting_for_.end()) continue;
    jobs.insert(jobs.end(), waiting->second.begin(), waiting->second.end());
  }
  std::sort(jobs.begin(), jobs.end());
  for (const uint32_t id : jobs) look_again(id);
}

void Dependencies::started(const Job& job) {
  if (waiting_for_.empty()) return;
  notify(job.id, job.array_job_id);
}

void Dependencies::ended(const Job& job) {
  if (const auto waiting = waiting_for_.find(job.array_job_id);
      job.array_task != kNoTask && waiting != waiting_for_.end()) {
    // Tasks of other arrays that wait for just this one.
    std::vector<uint32_t> arrays(waiting->second.begin(), waiting->second.end());
    std::sort(arrays.begin(), arrays.end());
    for (const uint32_t id : arrays) {
      Job* array = core_.state.find(id);
      if (array == nullptr || !array->is_array_record() || !array->details) continue;
      const auto& terms = array->details->dependencies;
      const bool corresponds = std::any_of(terms.begin(), terms.end(), [&](const Dependency& term) {
        return term.type() == AFTER_CORR && term.job_id() == job.array_job_id && !term.has_array_task_id();
      });
      if (corresponds && array->array->waiting.contains(job.array_task))
        release_task(*array, job.array_task, job.array_job_id);
    }
  }
  if (job.submission->uses_dependencies && job.details) {
    for (const Dependency& term : job.details->dependencies) {
      const auto waiting = waiting_for_.find(term.job_id());
      if (waiting == waiting_for_.end()) continue;
      waiting->second.erase(job.id);
      if (waiting->second.empty()) waiting_for_.erase(waiting);
    }
    singletons_.erase(job.id);
  }
  if (!waiting_for_.empty()) notify(job.id, job.array_job_id);
  if (singletons_.empty()) return;
  std::vector<uint32_t> singletons(singletons_.begin(), singletons_.end());
  std::sort(singletons.begin(), singletons.end());
  for (const uint32_t id : singletons) {
    const Job* waiting = core_.state.find(id);
    if (waiting != nullptr && waiting->uid == job.uid) look_again(id);
  }
}

}  // namespace minke::engine
