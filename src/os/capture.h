// Runs a program and keeps its output. Blocking; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace minke::os {

struct Captured {
  int exit_code = 0;  // 128 and the signal if one ended it
  std::string output;
};
struct CaptureOptions {
  int timeout_seconds = 10;                   // then it is killed
  size_t limit = size_t{1} << 20;             // bytes kept
  bool with_standard_error = true;            // false: it uses this program's own
  bool show = false;                          // also to this program's standard error, as it comes
  std::vector<std::string> environment = {};  // NAME=VALUE replaces this program's; "NAME" alone removes it
};

// argv[0] is a path. Its standard input is /dev/null. Fails if it cannot be started, and with ETIMEDOUT.
Result<Captured> run_captured(const std::vector<std::string>& argv, const CaptureOptions& options = {});

}  // namespace minke::os
