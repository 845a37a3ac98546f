#include "grow/carry/waiting_jobs.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "grow/carry/changed_tasks.h"
#include "text/array_spec.h"
#include "text/dependency.h"

namespace minke::grow {
namespace {

using model::JobRecord;

bool is_held(const JobRecord& record) {
  return record.priority() == 0;
}
bool is_held_by_user(const JobRecord& record) {
  return is_held(record) && record.reason() == model::WAIT_HELD_USER;
}

std::string id_of(const JobRecord& record) {
  if (record.array_job_id() == 0) return std::to_string(record.job_id());
  return std::to_string(record.array_job_id()) + "_" +
         (record.has_array_task_id() ? std::to_string(record.array_task_id())
                                     : "[" + text::format_array_tasks(record.array_pending(), 0) + "]");
}

enum class Term { kStays, kFulfilled, kNever, kRunning };

class Collector {
 public:
  Collector(const Snapshot& snapshot, const IsAlone& alone) : snapshot_(snapshot), alone_(alone) {}

  Result<WaitingJobs> collect() {
    for (const Snapshot::ActiveJob& row : snapshot_.active_jobs()) {
      if (row.record.state() == model::JOB_PENDING) {
        waiting_.insert(number_of(row.record));
      } else {
        running_.insert(number_of(row.record));
      }
    }
    for (const Snapshot::ActiveJob& row : snapshot_.active_jobs()) take(row);
    for (auto& [id, job] : found_) {
      if (const Status done = settle_dependencies(job); !done) return failure(done.error());
      result_.jobs.push_back(std::move(job));
    }
    std::stable_sort(result_.jobs.begin(), result_.jobs.end(), [](const WaitingJob& a, const WaitingJob& b) {
      if (a.record.priority() != b.record.priority()) return a.record.priority() > b.record.priority();
      if (a.record.submit_time() != b.record.submit_time())
        return a.record.submit_time() < b.record.submit_time();
      return a.id < b.id;
    });
    return std::move(result_);
  }

 private:
  static uint32_t number_of(const JobRecord& record) {
    return record.array_job_id() != 0 ? record.array_job_id() : record.job_id();
  }

  bool is_alone(const JobRecord& record) const { return alone_ && alone_(record); }

  void take(const Snapshot::ActiveJob& row) {
    const JobRecord& record = row.record;
    const model::JobSpec& spec = record.spec();
    const auto remark = [&](const std::string& what) {
      result_.remarks.push_back("job " + id_of(record) + ": " + what);
    };
    if (record.state() != model::JOB_PENDING)
      return remark("was running when the snapshot was taken; it ends under the old engine");
    if (spec.has_cron())
      return remark("is of a crontab: `scrontab -l` shows it here, and scrontab writes it there");
    if (spec.interactive() || (row.script.empty() && record.het_job_offset() == 0))
      return remark("waits for a salloc or srun at a terminal, which no other engine can answer");
    if (is_alone(record)) {
      alone_tasks_[record.array_job_id()].push_back(record.job_id());
      result_.alone.push_back("job " + id_of(record) + ": was requeued; it is job " +
                              std::to_string(record.job_id()) + "_" + std::to_string(record.array_task_id()) +
                              " now, an array of its own");
      return add(row);
    }
    if (record.array_job_id() == 0) return add(row);
    const auto known = found_.find(record.array_job_id());
    if (known == found_.end()) return add(row);
    const TaskChange change = task_change(known->second.record, record);
    if (!change.whole) remark("was changed on its own; it gets a part of the request of the other tasks");
    if (!change.settings.empty() && record.has_array_task_id())
      known->second.changed_tasks.push_back({record.array_task_id(), change.settings});
    add_tasks(row, known->second);
  }

  void add(const Snapshot::ActiveJob& row) {
    WaitingJob job;
    job.id = is_alone(row.record) ? row.record.job_id() : number_of(row.record);
    job.record = row.record;
    job.script = row.script;
    job.environment = row.environment;
    job.age_points = age_points(row.record);
    if (row.record.array_job_id() == 0) {
      job.held = is_held(row.record);
      job.held_by_user = is_held_by_user(row.record);
    } else {
      job.record.clear_array_task_id();
      job.record.mutable_array_pending()->clear_ranges();
      job.record.mutable_array_pending()->set_max_running(row.record.spec().array().max_running());
      if (row.record.array_pending().max_running() != 0)
        job.record.mutable_array_pending()->set_max_running(row.record.array_pending().max_running());
      add_tasks(row, job);
    }
    found_.emplace(job.id, std::move(job));
  }

  static void add_tasks(const Snapshot::ActiveJob& row, WaitingJob& job) {
    const JobRecord& record = row.record;
    model::ArraySpec tasks = record.array_pending();
    if (record.has_array_task_id()) {
      tasks.clear_ranges();
      model::IndexRange& only = *tasks.add_ranges();
      only.set_first(record.array_task_id());
      only.set_last(record.array_task_id());
      only.set_step(1);
    }
    for (const model::IndexRange& range : tasks.ranges()) {
      *job.record.mutable_array_pending()->add_ranges() = range;
      if (!is_held(record)) continue;
      for (uint32_t index = range.first(); index <= range.last(); index += std::max(1U, range.step()))
        job.held_tasks.push_back({index, is_held_by_user(record)});
    }
    if (!is_held(record)) job.record.set_priority(std::max(job.record.priority(), record.priority()));
  }

  uint32_t age_points(const JobRecord& record) const {
    const OldCluster& old = snapshot_.cluster();
    if (old.weight_age == 0 || old.max_age <= 0 || record.eligible_time() == 0) return 0;
    const auto waited = static_cast<double>(std::max<int64_t>(0, snapshot_.time() - record.eligible_time()));
    return static_cast<uint32_t>(std::min(1.0, waited / static_cast<double>(old.max_age)) * old.weight_age);
  }

  Status settle_dependencies(WaitingJob& job) {
    const model::JobSpec& spec = job.record.spec();
    if (!job.held_tasks.empty() && job.held_tasks.size() == text::count_indices(job.record.array_pending())) {
      job.held = true;
      job.held_by_user = job.held_tasks.front().by_user;
      job.held_tasks.clear();
    }
    text::DependencyList left{.terms = {}, .any = spec.dependency_any()};
    bool one_is_fulfilled = false;
    for (const model::Dependency& term : spec.dependencies()) {
      const auto now = state_of(term);
      if (!now) return failure(now.error());
      one_is_fulfilled = one_is_fulfilled || *now == Term::kFulfilled;
      if (*now == Term::kStays) add_term(term, job, left);
      if (*now != Term::kNever && *now != Term::kRunning) continue;
      if (*now == Term::kRunning && !job.held) job.awaits_running = true;
      job.held = true;
      job.held_by_user = false;
      result_.remarks.push_back(
          "job " + std::to_string(job.id) + ": is held, for it depends on job " +
          std::to_string(term.job_id()) +
          (*now == Term::kNever ? ", whose end can never fulfil that"
                                : ", which still ran under the old engine; minke grow apply --leave releases "
                                  "it when that has ended as it should, else scontrol release " +
                                      std::to_string(job.id)));
    }
    if (spec.dependency_any() && one_is_fulfilled) left.terms.clear();
    if (!left.terms.empty()) job.dependency = text::format_dependency_request(left);
    return {};
  }

  // Who waits for an array waits for those of its tasks, too, that are jobs of their own now.
  void add_term(const model::Dependency& term, WaitingJob& job, text::DependencyList& left) const {
    left.terms.push_back(term);
    const auto tasks = alone_tasks_.find(term.job_id());
    if (tasks == alone_tasks_.end() || term.type() == model::SINGLETON || term.has_array_task_id()) return;
    for (const uint32_t id : tasks->second) {
      left.terms.push_back(term);
      left.terms.back().set_job_id(id);
      job.awaits_alone = true;
    }
  }

  Result<Term> state_of(const model::Dependency& term) const {
    if (term.type() == model::SINGLETON) return Term::kStays;
    if (term.status() == model::DEPENDENCY_FULFILLED) return Term::kFulfilled;
    if (term.status() == model::DEPENDENCY_FAILED) return Term::kNever;
    const bool wants_success = term.type() == model::AFTER_OK || term.type() == model::AFTER_CORR;
    const auto before = snapshot_.outcome(term.job_id());
    if (!before) return failure(before.error());
    if (term.type() != model::AFTER && running_.contains(term.job_id())) return Term::kRunning;
    if (waiting_.contains(term.job_id())) {
      // Tasks that have ended are not there to be asked.
      return wants_success && before->ended > before->succeeded ? Term::kNever : Term::kStays;
    }
    if (running_.contains(term.job_id())) return Term::kFulfilled;
    if (before->ended == 0) return Term::kFulfilled;  // nobody knows of it any more
    const bool succeeded = before->ended == before->succeeded;
    if (wants_success) return succeeded ? Term::kFulfilled : Term::kNever;
    if (term.type() == model::AFTER_NOT_OK) return succeeded ? Term::kNever : Term::kFulfilled;
    return Term::kFulfilled;
  }

  const Snapshot& snapshot_;
  const IsAlone& alone_;
  std::map<uint32_t, std::vector<uint32_t>> alone_tasks_;  // by their array
  std::set<uint32_t> waiting_, running_;
  std::map<uint32_t, WaitingJob> found_;
  WaitingJobs result_;
};

}  // namespace

Result<WaitingJobs> waiting_jobs(const Snapshot& snapshot, const IsAlone& alone) {
  return Collector(snapshot, alone).collect();
}

}  // namespace minke::grow
