// One's own jobs at a glance: what runs, what waits and why, and how the last ones ended. Pure but for the
// decision on colour (view/colour.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "view/text.h"

namespace minke::view {

struct MyJobs {
  std::vector<const model::JobRecord*> queued;  // running, waiting, suspended, ending
  std::vector<const model::JobRecord*> ended;   // the newest first
};

// A table with a line a job; "You have no jobs." where there are none. Names, nodes and reasons are
// printable. Lines are cut at `columns` characters; 0: they are not.
std::string my_jobs_table(const MyJobs& jobs, const DisplayContext& context, size_t columns);
// "2 running, 1 waiting; ended: 3 completed, 1 failed"; empty where there are none.
std::string my_jobs_summary(const MyJobs& jobs);

}  // namespace minke::view
