// Removes a directory with everything in it, with several threads. No symbolic link is followed, nothing
// outside is touched. Blocking.
#pragma once

#include <string>

#include "base/result.h"
#include "storage/failures.h"

namespace minke::storage {

// `parent`: an open directory, or AT_FDCWD. What cannot be removed is told to `failures`. Directories that
// may be read but not written are given that right first. Errors: something is left (errno), or ENOENT.
Status remove_tree(int parent, const std::string& name, Failures& failures);

}  // namespace minke::storage
