// A file or tree that is made beside its place, and renamed to it when it is complete.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace minke::storage {

// Returns a hidden name for the unfinished file. It is always the same, so that the next process finds what a
// killed one left, and it differs for different names.
std::string partial_name(const std::string& name);

struct Beside {
  std::string directory, name, partial;
  os::UniqueFd parent;  // the directory
};

// Errors: errno of the directory that `path` is in; EINVAL: `path` has no name at its end.
Result<Beside> beside(std::string path);

bool same_inode(const struct statx& a, const struct statx& b);
// Whether an open directory is `above`, or lies within it.
bool lies_in(int directory, const struct statx& above);

}  // namespace minke::storage
