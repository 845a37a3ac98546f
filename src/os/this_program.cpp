#include "os/this_program.h"

#include <unistd.h>

#include <cerrno>
#include <climits>

namespace minke::os {

Result<std::string> this_program() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return failure_from_errno("/proc/self/exe", errno);
  if (length == sizeof path) return failure_from_errno("/proc/self/exe", ENAMETOOLONG);
  return std::string(path, static_cast<size_t>(length));
}

}  // namespace minke::os
