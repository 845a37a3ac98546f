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

// Errors: errno as the code; EFBIG if it is larger than `limit` bytes.
Result<std::string> read_file(const std::string& path, size_t limit);

// mkdir -p; this mode applies to the directories that it makes.
Status make_directories(const std::string& path, mode_t mode);

// An exclusive lock (flock) that lasts as long as the descriptor. Fails with EWOULDBLOCK if it is held.
Result<UniqueFd> lock_file(const std::string& path);

// Raises the soft limit of descriptors to the hard one: the low default is for programs with select(2).
void raise_descriptor_limit();

}  // namespace minke::os
