// The jobs of a snapshot that wait, each as one submission to the new Slurm: the tasks of an array that still
// wait are one again. Pure but for the snapshot. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "grow/carry/snapshot.h"
#include "model/job_record.pb.h"
#include "model/job_terms.pb.h"

namespace minke::grow {

struct HeldTask {
  uint32_t index = 0;
  bool by_user = false;
};

// A task that was changed on its own: what scontrol update makes of it.
struct ChangedTask {
  uint32_t index = 0;
  std::vector<std::string> settings;  // "TimeLimit=10"
};

struct WaitingJob {
  uint32_t id = 0;          // the array's, of an array
  model::JobRecord record;  // with its spec; array_pending has all tasks that wait
  store::ContentHash script, environment;
  std::string dependency;  // as --dependency takes it; empty: none, or all of them are fulfilled
  bool held = false, held_by_user = false;
  bool awaits_alone = false;         // its dependency names tasks that are jobs of their own now
  bool awaits_running = false;       // it is held because it depends on what runs under the old engine
  std::vector<HeldTask> held_tasks;  // of an array that is not held as a whole
  std::vector<ChangedTask> changed_tasks;
  uint32_t age_points = 0;  // that its waiting has brought it
};

struct WaitingJobs {
  std::vector<WaitingJob> jobs;      // in the order in which they would start
  std::vector<std::string> remarks;  // about jobs that cannot be carried, or not whole
  std::vector<std::string> alone;    // about tasks that are jobs of their own now
};
// `alone`: tasks of an array that become arrays of one task, under the numbers that they have themselves.
using IsAlone = std::function<bool(const model::JobRecord& task)>;
Result<WaitingJobs> waiting_jobs(const Snapshot& snapshot, const IsAlone& alone = nullptr);

}  // namespace minke::grow
