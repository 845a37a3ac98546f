// The settings of each component of a job, in order of precedence from the lowest: those that the component
// before passes on, #SBATCH lines (and #PBS, #BSUB), environment variables, the command line. A plain job
// has one component.
//
// Pure; may be called from any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "submit/job_request.h"

namespace minke::submit {

struct Components {
  std::vector<std::vector<Setting>> settings;
  std::optional<std::string> umask;  // of "#PBS -W umask="
  std::vector<std::string> notes;    // as in JobRequest
};

// Reads the lines of `script` if the command reads such lines.
Outcome<Components> collect_settings(const Invocation& invocation, const CommandLine& command_line,
                                     const ScriptFile* script);

}  // namespace minke::submit
