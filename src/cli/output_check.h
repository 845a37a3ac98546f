// Checks before a submission whether the job's output files can be made, and its interpreter is there: who
// submits a job that would fail silently, hours later, is warned. The job is taken, as in Slurm. With the
// user's own rights; blocking on the file system. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::cli {

// Adds what would keep the files from being written, where the job could start at once. A pattern in the
// directory part is not checked.
void check_output_paths(const model::JobSpec& spec, std::vector<std::string>& warnings);

// Adds a warning if the program that the script's first line names ("#!/bin/bash") is not on this machine. Of
// scripts that run in a container nothing is said.
void check_interpreter(const model::JobSpec& spec, std::string_view script,
                       std::vector<std::string>& warnings);

}  // namespace minke::cli
