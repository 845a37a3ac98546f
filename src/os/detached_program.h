// Starts a program as an independent process, with every input named: a session of its own, no parent that
// waits for it, no descriptor but its standard ones. Any thread. A file of its own, so that tests of the
// engine can have another os/detached.h.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace minke::os {

struct DetachedProgram {
  std::vector<std::string> argv, environment;
  std::string log_path;
  int input = -1;   // -1: /dev/null
  int output = -1;  // must be given
};

// This process starts it. An error: there was no process or memory for it; that its file cannot be executed
// is told by nobody (its output closes).
Status spawn_detached(const DetachedProgram& program);

}  // namespace minke::os
