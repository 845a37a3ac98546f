// Looks, before a job is handed in, whether its output files can be made: a job that would fail silently,
// hours later, is better refused. With the user's own rights; blocking on the file system. One thread.
#pragma once

#include "base/result.h"
#include "model/job.pb.h"

namespace minke::cli {

// Only what is sure to fail is refused: a pattern in the directory part is not looked into, and a directory
// that is not there yet is accepted where the job waits for something that could make it.
Status check_output_paths(const model::JobSpec& spec);

}  // namespace minke::cli
