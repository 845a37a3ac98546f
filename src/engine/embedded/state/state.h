// The cluster's jobs: all that wait or run, and those that ended but are not yet durable as such.
//
// Invariants: job ids are unique and only grow; an array's waiting tasks are one record with the array's id,
// and a task gets a record and an id of its own when it is split off (the last one keeps the array's), as in
// Slurm. Data and lookups only: the decisions are in scheduling, lifecycle, steps and dependencies. State's
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/embedded/state/job.h"
#include "store/store.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::engine {

// What is known of an array beyond its records in memory.
struct ArrayGroup {
  std::set<uint32_t> jobs;                       // ids of its records in memory
  std::set<uint32_t> sets;                       // of them, those of several tasks
  std::unordered_map<uint32_t, uint32_t> tasks;  // and those of one task, by its index
  uint32_t running = 0;
  uint32_t max_running = 0;  // 0: no throttle
  uint64_t ended = 0;        // tasks, all since submission
  uint64_t succeeded = 0;    // of them, with exit code 0
  int32_t highest_exit = 0;  // of those that ended under this daemon
  int32_t lowest_exit = 0;   // of those of them that failed; 0: none has
};

class State {
 public:
  using Jobs = std::map<uint32_t, std::unique_ptr<Job>>;

  Job* find(uint32_t job_id);
  const Jobs& jobs() const { return jobs_; }
  Job& add(std::unique_ptr<Job> job);
  void remove(uint32_t job_id);

  uint32_t next_job_id() const { return next_job_id_; }
  uint32_t take_job_id() { return next_job_id_++; }
  void skip_job_ids_to(uint32_t used) { next_job_id_ = std::max(next_job_id_, used + 1); }

  // The components in memory of the heterogeneous job that `job` belongs to, by offset; of another job:
  // itself.
  std::vector<Job*> components(const Job& job);

  ArrayGroup* find_array(uint32_t array_job_id);
  void set_throttle(uint32_t array_job_id, uint32_t max_running);
  // The record of task `index`: its own, or the one of the tasks that wait; null where there is none.
  Job* find_task(uint32_t array_job_id, uint32_t index);

  // Takes task `index`, which must wait, out of an array's waiting tasks; the result is that task's own
  // record. The record of the last waiting task becomes the task itself.
  Job& split_task(Job& array, uint32_t index);
  // Takes those of `chosen` that wait out, if there are any: into one record with an id of its own, for tasks
  // to which the same is done. Null: none of them waits. All of them: the record itself.
  Job* split_tasks(Job& array, const TaskSet& chosen);
  // Puts what split_tasks() has just taken out back, as if nothing had been done.
  void join_tasks(Job& array, Job& tasks);
  // The same as split_task() for a task that had been given its id before a restart; null where the index
  // does not wait, or cannot have had that id.
  Job* split_task_as(Job& array, uint32_t index, uint32_t job_id);

  std::shared_ptr<const store::ContentHash> intern(const store::ContentHash& hash);
  const std::string& user_name(uint32_t uid);
  const std::string& group_name(uint32_t gid);

  // The record without its spec.
  model::JobRecord record_of(const Job& job);
  void write_record(const Job& job, model::JobRecord& record);  // the same into an empty one
  store::JobRow row_of(const Job& job);
  // A job as the store has it.
  std::unique_ptr<Job> job_of(const store::JobRow& row, std::shared_ptr<const Submission> submission);

 private:
  Job& add_task(const Job& array, uint32_t index, uint32_t job_id, TaskSet several = {});
  void become_task(Job& array, uint32_t index);
  static void enter(ArrayGroup& group, const Job& job);

  Jobs jobs_;
  std::unordered_map<uint32_t, ArrayGroup> arrays_;
  std::unordered_map<store::ContentHash, std::weak_ptr<const store::ContentHash>> contents_;
  size_t contents_limit_ = 1024;
  std::unordered_map<uint32_t, std::string> user_names_, group_names_;
  uint32_t next_job_id_ = 1;
};

}  // namespace minke::engine
