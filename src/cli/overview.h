// minke without a word behind it, and minke jobs: how things stand, and what comes next. One thread;
// blocking.
#pragma once

#include <string>

namespace minke::cli {

// Is the cluster up, one's own jobs, the commands that come next. Starts nothing. Returns the exit status.
int overview();

// One's own jobs: those of the queue, and those that ended in the last day, or since `since` if it is given.
int my_jobs(const std::string& since);

}  // namespace minke::cli
