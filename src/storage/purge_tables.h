// Finds what a walk finds for purge.h, but from an ext4's own tables: the inodes tell which files are
// old, the directories their names. Before a removal a system call checks the file, in the directory
// where the tables have it, which is reached from the root without following a link. Blocking; has
// threads of its own.
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

// Called for each old file with the directory below the root (empty: the root) and its name there.
// From several threads.
using TakeOldFile = std::function<void(unsigned worker, const std::string& directory, std::string_view name,
                                       const OldFile& file)>;

// Bounds on memory, whatever the size of the file system: beyond `files` (24 bytes each), what is known of a
// file is looked up once more; beyond `directories` (some 300 bytes each) it fails. Add a third of a byte for
// each possible inode.
struct TableLimits {
  size_t files = 4 << 20, directories = 1 << 20;
};

// Takes regular files and symbolic links below `root` whose times of access and of change are both before
// `before`. Calls `begin` with the number of workers, before the first file. Errors before that: impossible
// here (EOPNOTSUPP, EACCES), or not within the limits (E2BIG); a walk is possible then (tree_walk.h).
Status each_old_by_tables(const std::string& root, int64_t before, const TableLimits& limits,
                          const std::function<void(unsigned)>& begin, const TakeOldFile& take);

}  // namespace minke::storage
