// What has changed, on its way to the store.
//
// Changes of a burst are collected and handed over once, when the burst has been handled. A job is written as
// it is at that moment, however often it changed. Where the store cannot commit (a full disk), state changes
// are kept and tried again every second; new submissions, which go through submit(), are refused instead.
// Order: what is handed over earlier is durable earlier. Owned by the state's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/event_loop.h"
#include "store/store.h"

namespace minke::model {
class StepRecord;
}  // namespace minke::model

namespace minke::engine {

struct Job;
class State;

class Committer {
 public:
  Committer(os::EventLoop& loop, store::Store& store, State& state);

  void job_changed(uint32_t job_id);  // also when it ended: it leaves memory once that is durable
  void run_ended(store::JobRow row);  // of a job that is requeued: its earlier run, for the record
  void step_changed(const model::StepRecord& step);
  void spec_changed(store::SpecRow row);
  void series_changed(store::SeriesRow row);
  void row_changed(store::Row row);       // of a table of records: store/tables.h
  void set_aside(store::DamagedRow row);  // what is noted after it may take its place
  // Runs `work` when all changes noted so far are durable.
  void when_durable(std::function<void()> work);
  // The same for what a full disk must not hold up, as the end of a job that has filled it: also once they
  // could not be stored for now.
  void when_tried(std::function<void()> work);
  // What the store has of the job is what is known of it here.
  bool is_stored(const Job& job) const;
  // The same for whoever waits for an answer: where the changes cannot be stored for now, that is the answer.
  // They are kept, and tried again.
  void when_stored(std::function<void(const Status& stored)> answer);

  // A batch of its own, which is not tried again. `done` runs on the state's thread.
  void submit(store::Batch batch, std::function<void(Status)> done);

  // Why commits fail at the moment; empty: they do not.
  const std::string& problem() const { return problem_; }
  // Called when problem() begins or ceases.
  void on_problem(std::function<void()> tell) { tell_problem_ = std::move(tell); }
  // Calls back once nothing is left to be written.
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
  store::Batch rows_;  // other changes of this burst
  std::vector<Work> work_;
  std::vector<std::function<void(const Status&)>> answers_;
  bool flush_scheduled_ = false;
  std::shared_ptr<Group> in_flight_;  // at most one group of state changes at a time
  unsigned submissions_in_flight_ = 0;
  uint64_t probes_ = 0;
  size_t most_jobs_ = 0;  // in memory, since memory was last given back
  std::string problem_;
  std::function<void()> tell_problem_;
  std::unique_ptr<os::EventLoop::Timer> retry_;
  std::vector<std::function<void()>> idle_work_;
};

}  // namespace minke::engine
