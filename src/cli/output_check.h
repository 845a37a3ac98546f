// Checks before a submission whether the job's output files can be made: a job that would fail silently,
// hours later, is better refused. With the user's own rights; blocking on the file system. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::cli {

// Refuses only what is sure to fail: a pattern in the directory part is not checked, and a
// missing directory is accepted if the job waits for something that could make it. A directory
// below the job's own ("logs/%j.out") may still be made before the job starts, and scripts name
// such: that gives a warning.
Status check_output_paths(const model::JobSpec& spec, std::vector<std::string>& warnings);

}  // namespace minke::cli
