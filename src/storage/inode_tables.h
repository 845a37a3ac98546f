// Every inode of a whole file system, from its own tables rather than by asking for each file by name: from
// an ext4's block device, from an XFS by BULKSTAT, from a btrfs by a search in its trees. As root; blocking.
// While others change the file system, each inode may be a little older or newer than the next.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace minke::storage {

struct TableInode {
  uint64_t number = 0;
  uint32_t mode = 0, uid = 0, gid = 0, links = 0;
  uint64_t size = 0, space = 0;  // bytes; space: given out by the file system
  int64_t atime = 0, ctime = 0;  // s since the epoch; by scan_inodes() perhaps older than those of stat(2)
};

using TakeInode = std::function<void(unsigned worker, const TableInode& inode)>;
using BeginInodes = std::function<void(unsigned workers)>;

// Every file, directory … that has a name, in any order. `begin` is told of how many workers there will be
// before the first is taken: `worker` is 0 … workers-1. With `one_file_system` without the subvolumes of a
// btrfs below that of `root`. Errors: code EOPNOTSUPP where `root` is not the root of a file system (or of a
// subvolume) that tells its inodes; others where it can't be read, then with some taken already.
Status scan_inodes(const std::string& root, bool one_file_system, const BeginInodes& begin,
                   const TakeInode& take);

// The same of one kind: `root` is an open directory.
Status scan_xfs(int root, const BeginInodes& begin, const TakeInode& take);
Status scan_btrfs(int root, bool one_file_system, const BeginInodes& begin, const TakeInode& take);

}  // namespace minke::storage
