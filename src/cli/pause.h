// minke pause and minke resume: nothing new starts for a while. One thread; blocking.
//
// Who runs the cluster (its owner, an operator) closes partitions: State=DOWN, where jobs wait and may be
// submitted. Everybody else holds the own waiting jobs. What runs goes on, unless it is suspended as well.
#pragma once

#include <string>
#include <vector>

namespace minke::cli {

struct PauseOptions {
  std::vector<std::string> partitions;  // none: all
  bool mine = false;                    // only the own waiting jobs
  bool running = false;                 // pause: suspend what runs, too
};
// Each prints what it did, and returns the exit status.
int pause_queue(const PauseOptions& options);
int resume_queue(const PauseOptions& options);

}  // namespace minke::cli
