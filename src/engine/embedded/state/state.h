// State: the cluster's jobs: all that wait or run, and those whose end is not durable yet.
//
// Invariants: job ids are unique and only grow. The waiting tasks of an array are one record with
// the array's id. A task that is split off gets its own record and id; the last one keeps the
// array's, as in Slurm. Data and lookups only: Scheduling, Lifecycle, Steps and Dependencies make
// the decisions. State's thread.
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
#include "store/content_hash.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::store {
struct JobRow;
}  // namespace minke::store

namespace minke::engine {

// What is known of an array beside its records in memory.
struct ArrayGroup {
  std::set<uint32_t> jobs;                       // ids of its records in memory
  std::set<uint32_t> sets;                       // those of them with several tasks
  std::unordered_map<uint32_t, uint32_t> tasks;  // those with one task, by its index
  uint32_t running = 0;
  uint32_t max_running = 0;  // 0: no throttle
  uint64_t ended = 0;        // ended tasks since the submission
  uint64_t succeeded = 0;    // those of them with exit code 0
  int32_t highest_exit = 0;  // of the tasks that ended under this daemon
  int32_t lowest_exit = 0;   // of the failed ones among these; 0: none failed
};

class State {
 public:
  using Jobs = std::map<uint32_t, std::unique_ptr<Job>>;

  Job* find(uint32_t job_id);
  const Job* find(uint32_t job_id) const;
  const Jobs& jobs() const { return jobs_; }
  Job& add(std::unique_ptr<Job> job);
  void remove(uint32_t job_id);

  uint32_t next_job_id() const { return next_job_id_; }
  uint32_t take_job_id() { return next_job_id_++; }
  void skip_job_ids_to(uint32_t used) { next_job_id_ = std::max(next_job_id_, used + 1); }

  // The components in memory of the heterogeneous job that `job` belongs to, by offset. For
  // any other job, the job itself.
  std::vector<Job*> components(const Job& job);

  ArrayGroup* find_array(uint32_t array_job_id);
  const ArrayGroup* find_array(uint32_t array_job_id) const;
  void set_throttle(uint32_t array_job_id, uint32_t max_running);
  // The record of task `index`: its own, or that of the waiting tasks; null if there is none.
  Job* find_task(uint32_t array_job_id, uint32_t index);

  // Splits task `index`, which must wait, off an array's waiting tasks, and returns the task's own record.
  // For the last waiting task this is the array's record itself.
  Job& split_task(Job& array, uint32_t index);
  // Splits the waiting ones of `chosen` off into one record with its own id, for tasks that get the same
  // change. Null: none waits. If all waiting tasks are chosen, the array's record itself.
  Job* split_tasks(Job& array, const TaskSet& chosen);
  // Undoes a split_tasks() that was just made.
  void join_tasks(Job& array, Job& tasks);
  // Like split_task(), for a task that had this id before a restart. Null if the task does not
  // wait, or cannot have had that id.
  Job* split_task_as(Job& array, uint32_t index, uint32_t job_id);

  // `is_new`: no job in memory has it.
  std::shared_ptr<const store::ContentHash> intern(const store::ContentHash& hash, bool* is_new = nullptr);
  const std::string& user_name(uint32_t uid);
  const std::string& group_name(uint32_t gid);

  // The record of the job without its spec.
  model::JobRecord record_of(const Job& job);
  void write_record(const Job& job, model::JobRecord& record);  // the same into an empty record
  store::JobRow row_of(const Job& job);
  // Makes a job from its stored row.
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
