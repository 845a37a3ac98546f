// The processes of cases: started without a copy of the worker (vfork), each the leader of a group, with
// /dev/null as its input. The kernel kills it where the worker dies, so that it does not go on while the case
// runs again. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "farming/worker.h"
#include "os/fd.h"

namespace minke::farming {

class CaseStarter {
 public:
  CaseStarter();
  // `output`: what becomes its standard output and error; -1: the worker's own. Error: errno of the start.
  Result<pid_t> start(const CaseCommand& command, int output);

 private:
  const std::string& program(const std::string& name);

  os::UniqueFd nothing_;
  std::map<std::string, std::string> found_;  // programs on PATH
};

// How often the kernel has killed a process of this control group for lack of memory; 0 where it does not
// tell.
uint64_t out_of_memory_kills();

}  // namespace minke::farming
