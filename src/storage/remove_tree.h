// Removes a directory with everything in it, with several threads. No symbolic link is followed, nothing
// outside is touched. Blocking.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"
#include "storage/failures.h"

namespace minke::storage {

// What of a tree may be removed, where users could have put something into it that is not part of it. Called
// by several threads.
class RemovalGuard {
 public:
  virtual ~RemovalGuard() = default;
  virtual bool may_empty(int directory) const = 0;
  virtual bool may_unlink(const struct statx& status) const = 0;  // with its time of birth
};

// `parent`: an open directory, or AT_FDCWD. What cannot be removed, or may not, is told to `failures`.
// Directories that may be read but not written are given that right first. Errors: something is left (errno),
// or ENOENT.
Status remove_tree(int parent, const std::string& name, Failures& failures,
                   const RemovalGuard* guard = nullptr);

}  // namespace minke::storage
