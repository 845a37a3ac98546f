// What is made beside its place, and takes it by a rename when it is complete.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace minke::storage {

// A hidden name for what is being made; always the same, so that what a killed process left is found again,
// and of two names never the same one.
std::string partial_name(const std::string& name);

struct Beside {
  std::string directory, name, partial;
  os::UniqueFd parent;  // the directory
};

// Errors: errno of the directory that `path` is in; EINVAL: `path` has no name at its end.
Result<Beside> beside(std::string path);

bool same_inode(const struct statx& a, const struct statx& b);
// Whether an open directory is `above`, or lies in it.
bool lies_in(int directory, const struct statx& above);

}  // namespace minke::storage
