// The same as a walk finds for purge.h, from an ext4's own tables: the inodes tell what is old, the
// directories what it is called. What is to be removed is looked at by a system call first, in the directory
// that it is said to be in, which is reached from the root without following a link. Blocking; threads of its
// own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::storage {

struct OldFile {
  uint64_t inode = 0;
  int64_t last_use = 0;  // s since the epoch
  uint32_t uid = 0, links = 1;
  uint64_t size = 0, space = 0;  // bytes
};

// Told of each old file: the directory below the root (empty: the root), and its name there. From several
// threads.
using TakeOldFile = std::function<void(unsigned worker, const std::string& directory, std::string_view name,
                                       const OldFile& file)>;

// Regular files and symbolic links below `root` whose times of access and of change are both before `before`.
// Memory: 24 bytes for each of four million files, and the names of all directories. Code EOPNOTSUPP or
// EACCES: not possible here. `begin` is told of how many workers there
// will be.
Status each_old_by_tables(const std::string& root, int64_t before, const std::function<void(unsigned)>& begin,
                          const TakeOldFile& take);

}  // namespace minke::storage
