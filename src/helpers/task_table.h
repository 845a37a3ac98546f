// What srun knows of its step's tasks: which run, which have ended and how, and the messages about them, in
// Slurm's words. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace minke::helpers {

// "0-2,5" of ascending numbers.
std::string format_ranks(const std::vector<uint32_t>& ranks);

class TaskTable {
 public:
  explicit TaskTable(uint32_t tasks) : ended_(tasks, false), failed_(tasks, false) {}

  // `status` is that of wait(2). Tasks of one node that end alike within a moment share one line: call
  // collect() for each, and tell() once the moment has passed.
  void collect(uint32_t rank, const std::string& node, int32_t status);
  bool has_news() const { return !news_.empty(); }
  // Returns "srun: error: n1: tasks 0-1: Exited with exit code 3", one line each.
  std::vector<std::string> tell();

  uint32_t ended() const { return ended_count_; }
  bool all_ended() const { return ended_count_ == ended_.size(); }
  // Returns "srun: StepId=12.0 tasks 0-2: running", and those that exited.
  std::vector<std::string> states(const std::string& step) const;
  // The highest exit code; 128 and the signal's number for a task that a signal ended, 1 for lack of memory.
  int exit_code() const { return exit_code_; }
  // Whether SIGTERM or SIGKILL ended any of them.
  bool any_terminated() const { return any_terminated_; }

 private:
  std::vector<bool> ended_;
  std::vector<bool> failed_;  // ended with a status that is not 0
  uint32_t ended_count_ = 0;
  int exit_code_ = 0;
  bool any_terminated_ = false;
  std::map<std::pair<std::string, std::string>, std::vector<uint32_t>> news_;  // by node and words
  std::vector<std::pair<std::string, std::string>> order_;
};

}  // namespace minke::helpers
