// Checks before a submission whether the job's output files can be made: who submits a job that would fail
// silently, hours later, is warned. The job is taken, as in Slurm. With the user's own rights; blocking on
// the file system. One thread.
#pragma once

#include <string>
#include <vector>

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::cli {

// Adds what would keep the files from being written, where the job could start at once. A pattern in the
// directory part is not checked.
void check_output_paths(const model::JobSpec& spec, std::vector<std::string>& warnings);

}  // namespace minke::cli
