#include "engine/embedded/life_cycle/dependencies.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "engine/embedded/life_cycle/lifecycle.h"
#include "engine/embedded/watching/mail.h"
#include "model/error.h"
#include "model/nobody.h"
#include "store/job_row.h"
#include "store/store.h"

namespace minke::engine {

using namespace model;

namespace {

bool over(const Job& job) {
  return job.ended() && !job.completing;
}

// Each term is looked at when its job begins or ends, and at the submission in the store.
constexpr int kMostTerms = 10000;

constexpr std::chrono::milliseconds kSlice{5};  // after this time others get their turn

// Jobs that have begun, however they ended; as in Slurm, a cancelled one counts as begun.
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

// How what is unknown ended is not known; but it is not waited for.
DependencyStatus of_unknown(DependencyType type) {
  return fulfilled_if(type == AFTER || type == AFTER_ANY || type == AFTER_BURST_BUFFER);
}

}  // namespace

Dependencies::Dependencies(Core& core) : core_(core), namesakes_(core.state) {}

Status Dependencies::check(JobSpec& spec, uint32_t uid) const {
  if (spec.dependencies_size() > kMostTerms)
    return failure("--dependency names " + std::to_string(spec.dependencies_size()) + " jobs, at most " +
                       std::to_string(kMostTerms) + " are allowed",
                   kDependency);
  if (const Status admitted = admits_terms(uid, static_cast<size_t>(spec.dependencies_size())); !admitted)
    return admitted;
  const Viewer viewer = core_.rights->viewer(uid);
  for (Dependency& term : *spec.mutable_dependencies()) {
    if (term.type() == SINGLETON) continue;
    if (term.job_id() == 0) return failure("there is no job 0", kDependency);
    const ArrayGroup* group = core_.state.find_array(term.job_id());
    const Job* known = core_.state.find(group == nullptr ? term.job_id() : *group->jobs.begin());
    const bool by_ending = term.type() == AFTER_OK || term.type() == AFTER_NOT_OK;
    const bool wants_array = term.has_array_task_id() || term.whole_array();  // "5_3", "5_*"
    const bool no_task = known != nullptr && wants_array && known->array_job_id == 0;
    if (no_task && by_ending && core_.config.slurm_release >= kSlurm24)
      return failure("job " + std::to_string(term.job_id()) + " is no array", kDependency);
    if (group != nullptr && by_ending && lacks_task(term) && core_.config.slurm_release >= kSlurm24)
      return failure(
          "array " + std::to_string(term.job_id()) + " has no task " + std::to_string(term.array_task_id()),
          kDependency);
    if (known != nullptr && viewer.sees(known->uid)) {
      if (!term.has_array_task_id()) term.set_whole_array(group != nullptr || term.whole_array());
      continue;
    }
    const auto stored = core_.store.job(term.job_id());
    if (!stored) return failure(stored.error());
    if (*stored && viewer.sees((*stored)->record.uid())) continue;
    // How an unknown job ended is not known. Otherwise it is not waited for: old scripts have old job
    // numbers.
    if (by_ending && core_.config.slurm_release >= kSlurm24)
      return failure("there is no job " + std::to_string(term.job_id()), kDependency);
    term.set_status(DEPENDENCY_FULFILLED);
  }
  return {};
}

bool Dependencies::lacks_task(const Dependency& term) const {
  if (!term.has_array_task_id() || core_.state.find_task(term.job_id(), term.array_task_id()) != nullptr)
    return false;
  const auto stored = core_.store.array_task(term.job_id(), term.array_task_id());
  return stored && !*stored;
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

Dependencies::Key Dependencies::key_of(const Dependency& term, const Job& job) {
  const uint32_t task = term.has_array_task_id()    ? term.array_task_id()
                        : term.type() == AFTER_CORR ? job.array_task
                                                    : kNoTask;
  return Key{term.job_id()} << 32 | (task + 1);  // task part 0: the whole job or array
}

void Dependencies::watch(Job& job) {
  namesakes_.add(job);
  if (!job.submission->uses_dependencies) return;
  Details& details = job.need_details();
  if (details.dependencies.empty()) {
    const JobSpec spec = job.submission->spec();
    details.dependencies.assign(spec.dependencies().begin(), spec.dependencies().end());
  }
  // The submission's charge covers one record. Records split off it have their own charge.
  const bool is_other = job.array_job_id != 0 && job.id != job.array_job_id;
  Budgets::Charge& charge = watched_[job.id];
  charge = {};
  if (is_other)
    charge = core_.rights->budgets().adopt(job.uid, Budget::kDependencies, details.dependencies.size());
  for (Dependency& term : details.dependencies) {
    const bool by_task = term.type() == AFTER_CORR && job.is_array_record() && !term.has_array_task_id();
    if (term.status() == DEPENDENCY_UNFULFILLED) {
      if (term.type() == SINGLETON) {
        namesakes_.add_singleton(job);
      } else {
        waiting_[key_of(term, job)].insert(job.id);
        if (by_task) corresponding_[term.job_id()].insert(job.id);
      }
      term.set_status(evaluate(term, job));
    }
    if (term.status() == DEPENDENCY_UNFULFILLED && by_task)
      core_.loop.post([this, id = job.id] { release_corresponding(id, 0); });
  }
}

void Dependencies::forget(const Job& job) {
  if (watched_.erase(job.id) == 0) return;
  if (!job.details) return;
  const auto erase = [&](auto& map, auto key) {
    const auto waiting = map.find(key);
    if (waiting == map.end()) return;
    waiting->second.erase(job.id);
    if (waiting->second.empty()) map.erase(waiting);
  };
  for (const Dependency& term : job.details->dependencies) {
    if (term.type() == SINGLETON) {
      namesakes_.remove_singleton(job);
      continue;
    }
    erase(waiting_, key_of(term, job));
    // Its record may have had several tasks when it began to wait.
    erase(waiting_, Key{term.job_id()} << 32);
    if (term.type() == AFTER_CORR) erase(corresponding_, term.job_id());
  }
}

void Dependencies::renamed(const Job& job, std::string_view before) {
  for (const uint32_t id : namesakes_.renamed(job, before)) looks_.push_back({id, 0, kNoTask});
  work_off();
}

Status Dependencies::admits_terms(uint32_t uid, size_t terms) const {
  const auto room = core_.rights->budgets().take(uid, Budget::kDependencies, terms);
  return room ? Status() : failure(room.error());
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
  if (group != nullptr && group->ended == 0) return;  // their ends will be reported one by one
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
  Job probe;  // stands for the task after the split
  probe.array_task = index;
  Dependency term;
  term.set_type(AFTER_CORR);
  term.set_job_id(other);
  if (evaluate(term, probe) == DEPENDENCY_UNFULFILLED) return false;
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
    core_.job_events.tell(&JobListener::obstacle_changed, task);
  }
  if (&task != &array) core_.job_events.tell(&JobListener::obstacle_changed, array);
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

// "after" may require that some minutes have passed since the job began.
DependencyStatus Dependencies::evaluate_start(const Dependency& term, const Job& job,
                                              const Job& other) const {
  if (!has_begun(other)) return DEPENDENCY_UNFULFILLED;
  const int64_t due = other.start_time + int64_t{term.delay_minutes()} * 60;
  if (other.start_time == 0 || due <= core_.now()) return DEPENDENCY_FULFILLED;
  core_.alarms.set(job.id, due);
  return DEPENDENCY_UNFULFILLED;
}

// Against another job in memory.
DependencyStatus Dependencies::evaluate_job(const Dependency& term, const Job& job, const Job& other) const {
  if (term.type() == AFTER) return evaluate_start(term, job, other);
  return over(other) ? of_outcome(term.type(), other.state == JOB_COMPLETE) : DEPENDENCY_UNFULFILLED;
}

DependencyStatus Dependencies::evaluate_task(const Dependency& term, const Job& job, uint32_t index) const {
  if (const Job* other = core_.state.find_task(term.job_id(), index)) return evaluate_job(term, job, *other);
  const auto stored = core_.store.array_task(term.job_id(), index);
  if (!stored) return DEPENDENCY_FAILED;
  if (!*stored) return of_unknown(term.type());
  return of_outcome(term.type(), (*stored)->record.state() == JOB_COMPLETE);
}

// Against a job, or an array without tasks in memory.
DependencyStatus Dependencies::evaluate_stored(const Dependency& term, const Job& job) const {
  const auto stored = core_.store.job(term.job_id());
  if (!stored) return DEPENDENCY_FAILED;
  if (!*stored) return of_unknown(term.type());
  if ((*stored)->record.array_job_id() == 0)
    return of_outcome(term.type(), (*stored)->record.state() == JOB_COMPLETE);
  const auto outcome = core_.store.array_outcome(term.job_id());
  if (!outcome) return DEPENDENCY_FAILED;
  const bool succeeded = outcome->ended == outcome->succeeded;
  if (term.type() == AFTER_CORR && job.is_array_record() && !succeeded) return DEPENDENCY_UNFULFILLED;
  return of_outcome(term.type(), succeeded);
}

DependencyStatus Dependencies::evaluate(const Dependency& term, const Job& job) const {
  if (term.type() == SINGLETON)
    return namesakes_.blocked(job) ? DEPENDENCY_UNFULFILLED : DEPENDENCY_FULFILLED;
  if (term.has_array_task_id()) return evaluate_task(term, job, term.array_task_id());
  if (term.type() == AFTER_CORR && job.array_task != kNoTask) return evaluate_task(term, job, job.array_task);
  if (const ArrayGroup* group = core_.state.find_array(term.job_id())) {
    if (term.type() != AFTER) return evaluate_array(term, job, *group);
    const bool begun = std::all_of(group->jobs.begin(), group->jobs.end(), [&](uint32_t id) {
      return evaluate_start(term, job, *core_.state.find(id)) == DEPENDENCY_FULFILLED;
    });
    return begun ? DEPENDENCY_FULFILLED : DEPENDENCY_UNFULFILLED;
  }
  const Job* other = core_.state.find(term.job_id());
  return other != nullptr ? evaluate_job(term, job, *other) : evaluate_stored(term, job);
}

DependencyStatus Dependencies::evaluate_array(const Dependency& term, const Job& job,
                                              const ArrayGroup& group) const {
  // A single failed task settles "afterok" at once.
  if (term.type() == AFTER_OK && group.ended > group.succeeded) return DEPENDENCY_FAILED;
  if (!all_over(group)) return DEPENDENCY_UNFULFILLED;
  // Settled task by task instead: see release_corresponding().
  if (term.type() == AFTER_CORR && job.is_array_record() && group.ended != group.succeeded)
    return DEPENDENCY_UNFULFILLED;
  if (term.type() == AFTER_NOT_OK) return fulfilled_if(group.ended > group.succeeded);
  return of_outcome(term.type(), group.ended == group.succeeded);
}

bool Dependencies::all_over(const ArrayGroup& group) const {
  return std::all_of(group.jobs.begin(), group.jobs.end(),
                     [&](uint32_t id) { return over(*core_.state.find(id)); });
}

void Dependencies::settled(Job& job) {
  if (never(job)) core_.mail->never_starts(job);
  if (never(job) && job.submission->kill_on_invalid_dependency) {
    core_.lifecycle->cancel(job, model::kNobody);
    return;
  }
  if (fulfilled(job) && job.eligible_time < core_.now()) job.eligible_time = core_.now();
  core_.committer.job_changed(job.id);
  core_.job_events.tell(&JobListener::obstacle_changed, job);
}

void Dependencies::look_at(uint32_t job_id, uint32_t about) {
  Job* job = core_.state.find(job_id);
  if (job == nullptr || job->state != JOB_PENDING || !job->details) return;
  bool changed = false;
  for (Dependency& term : job->details->dependencies) {
    if (term.status() != DEPENDENCY_UNFULFILLED) continue;
    if (about != 0 && term.type() != SINGLETON && term.job_id() != about) continue;
    term.set_status(evaluate(term, *job));
    changed |= term.status() != DEPENDENCY_UNFULFILLED;
  }
  if (changed) settled(*job);
}

void Dependencies::look_again(uint32_t job_id) {
  look_at(job_id, 0);
}

void Dependencies::tell(Key key, uint32_t about) {
  const auto waiting = waiting_.find(key);
  if (waiting == waiting_.end()) return;
  for (const uint32_t id : waiting->second) looks_.push_back({id, about, kNoTask});
}

void Dependencies::work_off() {
  // A settled job may settle others; they are added to the line.
  if (std::exchange(working_, true)) return;
  const auto begin = std::chrono::steady_clock::now();
  while (!looks_.empty() && std::chrono::steady_clock::now() - begin < kSlice) {
    const Look look = looks_.front();
    looks_.pop_front();
    if (look.task == kNoTask) {
      look_at(look.job_id, look.about);
      continue;
    }
    Job* array = core_.state.find(look.job_id);
    if (array != nullptr && array->is_array_record() && array->details &&
        array->array->waiting.contains(look.task))
      release_task(*array, look.task, look.about);
  }
  working_ = false;
  if (looks_.empty() || std::exchange(posted_, true)) return;
  core_.loop.post([this] {
    posted_ = false;
    work_off();
  });
}

void Dependencies::job_started(Job& job, Start) {
  if (waiting_.empty()) return;
  tell(Key{job.id} << 32, job.id);
  if (job.array_job_id != 0) {
    tell(Key{job.array_job_id} << 32 | (job.array_task + 1), job.array_job_id);
    // For "after" the whole array: its last task is about to begin.
    const ArrayGroup& group = *core_.state.find_array(job.array_job_id);
    if (group.sets.empty() && job.array_job_id != job.id) tell(Key{job.array_job_id} << 32, job.array_job_id);
  }
  work_off();
}

void Dependencies::tell_of_task(const Job& job, const ArrayGroup& group) {
  const Key whole = Key{job.array_job_id} << 32;
  if (job.array_task != kNoTask) tell(whole | (job.array_task + 1), job.array_job_id);
  if (job.array) {
    for (auto named = waiting_.upper_bound(whole);
         named != waiting_.end() && named->first >> 32 == job.array_job_id; ++named)
      if (job.array->waiting.contains(static_cast<uint32_t>(named->first) - 1))
        tell(named->first, job.array_job_id);
  }
  // A whole array is settled by its first failure or its end, and for "after" when no task waits any more.
  const uint64_t tasks = job.array ? job.array->waiting.size() : 1;
  const bool failed = job.state != JOB_COMPLETE && group.ended - group.succeeded <= tasks;
  if (job.array_job_id != job.id && (failed || job.start_time == 0 || all_over(group)))
    tell(whole, job.array_job_id);
}

void Dependencies::job_ended(Job& job, bool) {
  if (job.submission->uses_dependencies) forget(job);
  const uint32_t array = job.array_job_id;
  if (const auto others = corresponding_.find(array); array != 0 && others != corresponding_.end()) {
    // Tasks of other arrays that wait for this task, or for tasks that were cancelled together.
    for (const uint32_t id : others->second) {
      if (job.array_task != kNoTask) looks_.push_back({id, array, job.array_task});
      if (job.array) core_.loop.post([this, id] { release_corresponding(id, 0); });
    }
  }
  if (!waiting_.empty()) {
    tell(Key{job.id} << 32, job.id);
    if (array != 0) tell_of_task(job, *core_.state.find_array(array));
  }
  for (const uint32_t id : namesakes_.released(job)) looks_.push_back({id, 0, kNoTask});
  work_off();
}

}  // namespace minke::engine
