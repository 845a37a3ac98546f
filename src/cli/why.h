// minke why: fetches the reason why a job is pending, or how it ended, and prints it.
#pragma once

#include <string>

namespace minke::cli {

// Returns the exit code: 1 if there is no such job. Messages go to standard error.
int why(const std::string& job, bool json);

}  // namespace minke::cli
