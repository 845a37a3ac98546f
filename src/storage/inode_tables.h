// Every inode of a whole file system, from its own tables instead of each file by name: from an ext4's block
// device, from an XFS by BULKSTAT, from a btrfs by a search in its trees. As root; blocking. While others
// change the file system, each inode may be a little older or newer than the next.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace minke::storage {

struct TableInode {
  uint64_t number = 0;
  uint32_t mode = 0, uid = 0, gid = 0, links = 0;
  uint64_t size = 0, space = 0;  // bytes; space: allocated by the file system
  int64_t atime = 0, ctime = 0;  // s since the epoch; by scan_inodes() perhaps older than those of stat(2)
};

using TakeInode = std::function<void(unsigned worker, const TableInode& inode)>;
using BeginInodes = std::function<void(unsigned workers)>;

// Takes every file, directory … that has a name, in any order. Calls `begin` with the number of workers
// before the first: `worker` is 0 … workers-1. With `one_file_system` it skips the subvolumes of a btrfs
// below that of `root`. Fails with EOPNOTSUPP if `root` is not the root of a file system (or of a subvolume)
// that lists its inodes; with other codes if it cannot be read, perhaps after some were taken.
Status scan_inodes(const std::string& root, bool one_file_system, const BeginInodes& begin,
                   const TakeInode& take);

// The same for one kind: `root` is an open directory.
Status scan_xfs(int root, const BeginInodes& begin, const TakeInode& take);
Status scan_btrfs(int root, bool one_file_system, const BeginInodes& begin, const TakeInode& take);

}  // namespace minke::storage
