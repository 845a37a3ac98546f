// What --verbose tells of a submission: the options that are set, as Slurm lists them. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "submit/job_request.h"

namespace minke::submit {

// The lines, without the command's name in front: one for each option of `settings` that holds, by name,
// between two lines of dashes.
std::vector<std::string> list_defined_options(const std::vector<Setting>& settings, const JobRequest& request,
                                              const std::optional<std::string>& wrap);

}  // namespace minke::submit
