// Starts an independent process: a session of its own, no parent that waits for it,
// nothing inherited.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace minke::os {

struct DetachedCommand {
  std::vector<std::string> argv;               // argv[0] is a path
  std::string log_path;                        // its standard error, appended to
  std::vector<std::string> without_variables;  // not passed on; "NAME*" for all with this prefix
  int input = -1;                              // its standard input; -1: /dev/null
  int output = -1;                             // its standard output; -1: the result's other end
};

// Returns its standard output; end of file means that it has closed it, or has ended. If `output` is given,
// only the result tells that. If this process has a helper starter (os/helper_starter.h), the starter starts
// it, with its own rights.
Result<UniqueFd> start_detached(const DetachedCommand& command);

}  // namespace minke::os
