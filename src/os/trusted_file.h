// Checks that only root can change what a path leads to. Blocking; any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace minke::os {

// The path is absolute; root must own it, every directory on its way and every symbolic link there, and
// nobody else may write to them. Fails with EPERM if somebody may, and with the kernel's error (ENOENT …).
Status check_only_root_changes(const std::string& path);

}  // namespace minke::os
