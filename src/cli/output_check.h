// Looks, before a job is handed in, whether its output files can be made: a job that would fail silently,
// hours later, is better refused. With the user's own rights; blocking on the file system. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::cli {

// Only what is sure to fail is refused: a pattern in the directory part is not looked into, and a directory
// that is not there yet is accepted where the job waits for something that could make it. One below the job's
// directory ("logs/%j.out") may still be made before the job starts, and scripts name such: that is a
// warning.
Status check_output_paths(const model::JobSpec& spec, std::vector<std::string>& warnings);

}  // namespace minke::cli
