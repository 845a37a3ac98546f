// minke why: fetches why a job waits, or how it ended, and prints it.
#pragma once

#include <string>

namespace minke::cli {

// The exit code: 1 where there is no such job. Messages go to standard error.
int why(const std::string& job, bool json);

}  // namespace minke::cli
