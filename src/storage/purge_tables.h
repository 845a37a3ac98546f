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

// What may be in memory, whatever the size of the file system: beyond `files` (24 bytes each), what is known
// of a file is looked up once more; with more than `directories` (some 300 bytes each) it is not done at all.
// And a third of a byte for each inode that there may be.
struct TableLimits {
  size_t files = 4 << 20, directories = 1 << 20;
};

// Regular files and symbolic links below `root` whose times of access and of change are both before `before`.
// `begin` is told of how many workers there will be, before the first file. Errors before that: not possible
// here (EOPNOTSUPP, EACCES), or not within the limits (E2BIG): a walk is (tree_walk.h).
Status each_old_by_tables(const std::string& root, int64_t before, const TableLimits& limits,
                          const std::function<void(unsigned)>& begin, const TakeOldFile& take);

}  // namespace minke::storage
