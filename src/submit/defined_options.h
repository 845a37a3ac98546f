// The list that --verbose prints of a submission: the options that are set, as in Slurm. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "submit/job_request.h"

namespace minke::submit {

// Returns the lines, without the command's name in front: one for each effective option of `settings`, by
// name, between two lines of dashes.
std::vector<std::string> list_defined_options(const std::vector<Setting>& settings, const JobRequest& request,
                                              const std::optional<std::string>& wrap);

}  // namespace minke::submit
