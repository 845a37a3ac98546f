// The current usage of running steps, task by task. It is read a few processes at a time: a machine may have
// very many. State's thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/step_usage.pb.h"
#include "node/process_usage.h"

namespace minke::engine {

// The machine's processes by parent, read once for all steps of an answer.
class ProcessParents {
 public:
  ProcessParents();
  bool read_some();  // false: all have been read
  const std::vector<pid_t>& children_of(pid_t parent) const;

 private:
  std::vector<pid_t> unread_;
  std::unordered_map<pid_t, std::vector<pid_t>> children_;
};

// Reads the usage of one step.
class StepUsageReader {
 public:
  // `usage` has the tasks; `roots` the first process of each. 0, or none: the task has ended.
  StepUsageReader(api::StepUsage usage, std::vector<pid_t> roots)
      : usage_(std::move(usage)), roots_(std::move(roots)) {}

  // Reads some more processes of the step. `parents` has read all. False: there are no more.
  bool read_some(const ProcessParents& parents);
  api::StepUsage& usage() { return usage_; }

 private:
  bool begin_task();
  void end_task();

  api::StepUsage usage_;
  std::vector<pid_t> roots_;
  int task_ = 0;
  // Of the current task: processes to be read, all that were found, and the sums.
  std::vector<pid_t> open_;
  std::unordered_set<pid_t> found_;
  node::ProcessUsage sum_;
};

}  // namespace minke::engine
