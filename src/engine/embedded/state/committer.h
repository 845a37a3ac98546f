// Committer: brings changes to the store.
//
// Changes of a burst are collected and handed over once when the burst has been handled. A job is written as
// it is then, however often it changed. If the store cannot commit (full disk), state changes are kept and
// tried again every second, but new submissions, which go through submit(), are refused. Order: what is
// handed over earlier is durable earlier. Owned by the state's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/event_loop.h"

namespace minke::model {
class StepRecord;
}  // namespace minke::model

namespace minke::store {
struct Batch;
struct DamagedRow;
struct JobRow;
struct Row;
struct SeriesRow;
struct SpecRow;
class Store;
}  // namespace minke::store

namespace minke::engine {

struct Job;
class State;

class Committer {
 public:
  Committer(os::EventLoop& loop, store::Store& store, State& state);
  ~Committer();

  void job_changed(uint32_t job_id);  // also when it ended: it leaves memory once its end is durable
  void run_ended(store::JobRow row);  // records the earlier run of a job that is requeued
  void step_changed(const model::StepRecord& step);
  void spec_changed(store::SpecRow row);
  void series_changed(store::SeriesRow row);
  void row_changed(store::Row row);       // a row of a table of records: store/tables.h
  void set_aside(store::DamagedRow row);  // a later change may replace the row
  // Runs `work` when all changes recorded so far are durable.
  void when_durable(std::function<void()> work);
  // The same for work that a full disk must not delay, such as the end of a job that has filled it: `work`
  // also runs once the changes could not be stored for now.
  void when_tried(std::function<void()> work);
  // Whether the store has the current state of the job.
  bool is_stored(const Job& job) const;
  // The same for a client that waits for an answer. If the changes cannot be stored for now, `answer` gets
  // that error; they are kept and tried again.
  void when_stored(std::function<void(const Status& stored)> answer);

  // Commits a separate batch, which is not retried. `done` runs on the state's thread.
  void submit(store::Batch batch, std::function<void(Status)> done);

  // Why commits fail at the moment; empty: they succeed.
  const std::string& problem() const { return problem_; }
  // `tell` is called when problem() begins or ceases.
  void on_problem(std::function<void()> tell) { tell_problem_ = std::move(tell); }
  // Runs `work` once nothing is left to write.
  void when_idle(std::function<void()> work);

 private:
  struct Group;
  struct Work {
    std::function<void()> run;
    bool though_not_stored = false;
  };
  void schedule_flush();
  void flush();
  void hand_over(std::shared_ptr<Group> group);
  void finished(std::shared_ptr<Group> group, Status outcome);
  void set_problem(std::string problem);
  Status not_stored() const;
  void give_memory_back();
  static void run_though_not_stored(Group& group);
  static void answer_all(std::vector<std::function<void(const Status&)>> answers, const Status& stored);

  os::EventLoop& loop_;
  store::Store& store_;
  State& state_;
  std::vector<uint32_t> dirty_jobs_;
  std::unique_ptr<store::Batch> rows_;  // other changes of this burst
  std::vector<Work> work_;
  std::vector<std::function<void(const Status&)>> answers_;
  bool flush_scheduled_ = false;
  std::shared_ptr<Group> in_flight_;  // at most one group of state changes at a time
  unsigned submissions_in_flight_ = 0;
  uint64_t probes_ = 0;
  size_t most_jobs_ = 0;  // the most jobs in memory since memory was last given back
  std::string problem_;
  std::function<void()> tell_problem_;
  std::unique_ptr<os::EventLoop::Timer> retry_;
  std::vector<std::function<void()>> idle_work_;
};

}  // namespace minke::engine
