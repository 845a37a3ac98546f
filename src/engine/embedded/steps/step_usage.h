// The current usage of running steps, task by task. State's thread.
#pragma once

#include <sys/types.h>

#include <vector>

#include "node/process_tree.h"

namespace minke::api {
class TaskUsage;
}  // namespace minke::api

namespace minke::engine {

// Reads the machine's processes once, for all steps of an answer.
class UsageReader {
 public:
  UsageReader() : processes_(node::read_all_processes()) {}

  // Fills in `task` for the task with the first process `root`; 0: the task has ended.
  void read(pid_t root, api::TaskUsage& task) const;

 private:
  std::vector<node::Process> processes_;
};

}  // namespace minke::engine
