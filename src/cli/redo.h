// minke redo: submits a job again, with its script and its options. One thread; blocking.
#pragma once

#include <string>

namespace minke::cli {

struct RedoOptions {
  std::string job;      // 12, an array, a task of one: 12_3, or several: 12_[1,3]
  bool failed = false;  // of an array: the tasks that did not complete
};
// Prints the new job's number. Returns the exit status.
int redo(const RedoOptions& options, int argc, char** argv);

}  // namespace minke::cli
