#include "engine/embedded/state/committer.h"

#include <malloc.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/request_guard.h"
#include "engine/embedded/state/job.h"
#include "engine/embedded/state/state.h"
#include "model/lasting_state.pb.h"
#include "model/step_record.pb.h"
#include "store/job_row.h"
#include "store/store.h"

namespace minke::engine {

struct Committer::Group {
  std::vector<uint32_t> jobs;  // in order, each once
  store::Batch other_rows;     // kept until durable; rows of jobs are made anew for each try
  std::vector<Work> work;
  std::vector<std::function<void(const Status&)>> answers;
  unsigned failures = 0;  // failed tries; it is tried again every second

  void add(std::vector<uint32_t> changed, store::Batch rows, std::vector<Work> then) {
    jobs.insert(jobs.end(), changed.begin(), changed.end());
    std::sort(jobs.begin(), jobs.end());
    jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
    const auto append = [](auto& to, auto& from) {
      to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    };
    append(work, then);
    append(other_rows.jobs, rows.jobs);
    append(other_rows.steps, rows.steps);
    append(other_rows.specs, rows.specs);
    append(other_rows.series, rows.series);
    append(other_rows.rows, rows.rows);
    append(other_rows.set_aside, rows.set_aside);
  }
};

namespace {

// After this many failures, waiting clients are told that their change cannot be stored. Not before, because
// it may make room itself, such as the end of a job that has filled the disk.
constexpr unsigned kFailuresToTell = 4;

}  // namespace

Committer::Committer(os::EventLoop& loop, store::Store& store, State& state)
    : loop_(loop),
      store_(store),
      state_(state),
      rows_(std::make_unique<store::Batch>()),
      retry_(loop.make_timer([this] {
        // Jobs are written in their current state, together with all other changes since. Otherwise the two
        // would not match if this daemon dies in between.
        for (const uint32_t id : dirty_jobs_) state_.find(id)->dirty = false;
        in_flight_->add(std::exchange(dirty_jobs_, {}), std::exchange(*rows_, {}), std::exchange(work_, {}));
        hand_over(in_flight_);
      })) {}

Committer::~Committer() = default;

void Committer::schedule_flush() {
  if (flush_scheduled_) return;
  flush_scheduled_ = true;
  loop_.defer([this] {
    flush_scheduled_ = false;
    flush();
  });
}

void Committer::job_changed(uint32_t job_id) {
  RequestGuard::changing();
  Job* job = state_.find(job_id);
  MINKE_CHECK(job != nullptr);
  if (job->dirty) return;
  job->dirty = true;
  dirty_jobs_.push_back(job_id);
  schedule_flush();
}

void Committer::run_ended(store::JobRow row) {
  RequestGuard::changing();
  rows_->jobs.push_back(std::move(row));
  schedule_flush();
}

void Committer::step_changed(const model::StepRecord& step) {
  RequestGuard::changing();
  rows_->steps.push_back(step);
  schedule_flush();
}

void Committer::spec_changed(store::SpecRow row) {
  RequestGuard::changing();
  rows_->specs.push_back(std::move(row));
  schedule_flush();
}

void Committer::series_changed(store::SeriesRow row) {
  RequestGuard::changing();
  rows_->series.push_back(std::move(row));
  schedule_flush();
}

void Committer::row_changed(store::Row row) {
  RequestGuard::changing();
  rows_->rows.push_back(std::move(row));
  schedule_flush();
}

void Committer::set_aside(store::DamagedRow row) {
  RequestGuard::changing();
  rows_->set_aside.push_back(std::move(row));
  schedule_flush();
}

void Committer::when_durable(std::function<void()> work) {
  work_.push_back({std::move(work)});
  schedule_flush();
}

void Committer::when_tried(std::function<void()> work) {
  work_.push_back({std::move(work), true});
  schedule_flush();
}

bool Committer::is_stored(const Job& job) const {
  return !job.dirty &&
         !(in_flight_ && std::binary_search(in_flight_->jobs.begin(), in_flight_->jobs.end(), job.id));
}

void Committer::when_stored(std::function<void(const Status&)> answer) {
  answers_.push_back(std::move(answer));
  // The group in front cannot be stored; answers, but not inside this call.
  if (in_flight_ && in_flight_->failures >= kFailuresToTell)
    loop_.post([this] { answer_all(std::exchange(answers_, {}), not_stored()); });
  schedule_flush();
}

// The message for clients that asked for a change.
Status Committer::not_stored() const {
  return failure("this is done, but cannot be stored for now, and would be lost with the daemon: " +
                 problem_);
}

void Committer::run_though_not_stored(Group& group) {
  const auto first = std::stable_partition(group.work.begin(), group.work.end(),
                                           [](const Work& one) { return !one.though_not_stored; });
  const std::vector<Work> due(std::make_move_iterator(first), std::make_move_iterator(group.work.end()));
  group.work.erase(first, group.work.end());
  for (const Work& work : due) work.run();
}

void Committer::answer_all(std::vector<std::function<void(const Status&)>> answers, const Status& stored) {
  for (auto& answer : answers) answer(stored);
}

void Committer::set_problem(std::string problem) {
  const bool changed = problem.empty() != problem_.empty();
  problem_ = std::move(problem);
  if (changed && tell_problem_) tell_problem_();
}

void Committer::flush() {
  if (in_flight_) return;  // its end flushes again, with everything collected until then
  if (dirty_jobs_.empty() && rows_->empty() && work_.empty() && answers_.empty()) {
    if (submissions_in_flight_ == 0) {
      for (auto& work : std::exchange(idle_work_, {})) work();
    }
    return;
  }
  in_flight_ = std::make_shared<Group>();
  in_flight_->add(std::exchange(dirty_jobs_, {}), std::exchange(*rows_, {}), std::exchange(work_, {}));
  in_flight_->answers = std::exchange(answers_, {});
  // Once here and not for each try: changes between two tries go to dirty_jobs_ and must be noticed.
  for (const uint32_t id : in_flight_->jobs) state_.find(id)->dirty = false;
  hand_over(in_flight_);
}

void Committer::hand_over(std::shared_ptr<Group> group) {
  store::Batch batch = group->other_rows;
  batch.jobs.reserve(batch.jobs.size() + group->jobs.size());
  for (const uint32_t id : group->jobs) {
    const Job* job = state_.find(id);
    MINKE_CHECK(job != nullptr);
    batch.jobs.push_back(state_.row_of(*job));
  }
  store_.commit(std::move(batch), [this, group](Status outcome) {
    loop_.post(
        [this, group, outcome = std::move(outcome)]() mutable { finished(group, std::move(outcome)); });
  });
}

void Committer::finished(std::shared_ptr<Group> group, Status outcome) {
  if (!outcome) {
    ++group->failures;
    set_problem(outcome.error().message);
    retry_->set_after(std::chrono::seconds(1));
    run_though_not_stored(*group);
    if (group->failures < kFailuresToTell) return;
    answer_all(std::exchange(group->answers, {}), not_stored());
    answer_all(std::exchange(answers_, {}), not_stored());
    return;
  }
  set_problem("");
  in_flight_.reset();
  for (const uint32_t id : group->jobs) {
    const Job* job = state_.find(id);
    if (job != nullptr && job->ended() && !job->completing && !job->dirty) state_.remove(id);
  }
  give_memory_back();
  for (const Work& work : group->work) work.run();
  answer_all(std::exchange(group->answers, {}), {});
  schedule_flush();
}

// The C library keeps freed memory, which after a long queue is most of the daemon's.
void Committer::give_memory_back() {
  constexpr size_t kWorthIt = 20000;
  const size_t jobs = state_.jobs().size();
  most_jobs_ = std::max(most_jobs_, jobs);
  if (most_jobs_ < kWorthIt || jobs > most_jobs_ / 4) return;
  most_jobs_ = jobs;
  loop_.post([] { ::malloc_trim(0); });
}

void Committer::submit(store::Batch batch, std::function<void(Status)> done) {
  RequestGuard::changing();
  ++submissions_in_flight_;
  store_.commit(std::move(batch), [this, done = std::move(done)](Status outcome) {
    loop_.post([this, done, outcome = std::move(outcome)] {
      --submissions_in_flight_;
      // A refused batch alone does not show whether the disk is full, perhaps for hours without other
      // changes. A probe, which is retried, does.
      if (!outcome) {
        model::CommitProbe probe;
        probe.set_number(++probes_);
        row_changed(store::kCommitProbe.row(probe));
      }
      done(outcome);
      if (!idle_work_.empty()) schedule_flush();
    });
  });
}

void Committer::when_idle(std::function<void()> work) {
  idle_work_.push_back(std::move(work));
  schedule_flush();
}

}  // namespace minke::engine
