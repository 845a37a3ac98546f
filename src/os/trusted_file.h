// Whether nobody but root can change what a path leads to. Blocking; any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace minke::os {

// The path is absolute; it, every directory on its way and every symbolic link there must be root's, and
// nobody else may write to them. EPERM: somebody may. ENOENT and others: as the kernel says.
Status check_only_root_changes(const std::string& path);

}  // namespace minke::os
