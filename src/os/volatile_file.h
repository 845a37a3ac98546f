// Files that are made again after a power cut: a pid, a spooled script. os::replace_file() would wait for the
// disk. Blocking. Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::os {

// Replaces (or makes) the file in one step, like replace_file(). After a power cut it may have the old
// contents, the new, or none: readers must be able to tell.
Status replace_volatile_file(const std::string& path, std::string_view contents, mode_t mode);

}  // namespace minke::os
