// Small files, whole. Blocking. Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace minke::os {

// Replaces (or makes) the file in one step: readers see the old contents or the new, never half.
Status replace_file(const std::string& path, std::string_view contents, mode_t mode);

// Errors: errno as the code; EFBIG where it is larger than `limit` bytes.
Result<std::string> read_file(const std::string& path, size_t limit);

// mkdir -p, with this mode for those it makes.
Status make_directories(const std::string& path, mode_t mode);

// An exclusive lock (flock) that lasts as long as the descriptor. Code EWOULDBLOCK: somebody holds it.
Result<UniqueFd> lock_file(const std::string& path);

// Lets this process have as many descriptors as it may. The soft limit of old is for programs with select(2).
void raise_descriptor_limit();

}  // namespace minke::os
