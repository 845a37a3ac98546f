#include "os/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace minke::os {

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failure_from_errno("pipe", errno);
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace minke::os
