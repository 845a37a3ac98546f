// A pipe, both ends close-on-exec. Any thread.
#pragma once

#include "base/result.h"
#include "os/fd.h"

namespace minke::os {

struct Pipe {
  UniqueFd reader, writer;
};
// Errors: EMFILE, ENFILE.
Result<Pipe> make_pipe();

}  // namespace minke::os
