// Removes a directory with everything in it, with several threads. No symbolic link is followed, nothing
// outside is touched. Blocking.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"
#include "storage/failures.h"

namespace minke::storage {

// Decides what of a tree may be removed, if users could have put something into it that is not part of it.
// Called by several threads.
class RemovalGuard {
 public:
  virtual ~RemovalGuard() = default;
  virtual bool may_empty(int directory) const = 0;
  virtual bool may_unlink(const struct statx& status) const = 0;  // with its time of birth
};

// `parent` is an open directory, or AT_FDCWD. Reports to `failures` what cannot be removed, or may not.
// Makes directories writable first if they can be read but not written. Fails with errno if something is
// left, and with ENOENT.
Status remove_tree(int parent, const std::string& name, Failures& failures,
                   const RemovalGuard* guard = nullptr);

}  // namespace minke::storage
