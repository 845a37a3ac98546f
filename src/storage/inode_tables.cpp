#include "storage/inode_tables.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <cerrno>

#include "os/fd.h"
#include "storage/ext4_tables.h"

namespace minke::storage {

namespace {

constexpr uint64_t kExt4Root = 2;

}  // namespace

Status scan_inodes(const std::string& root, bool one_file_system, const BeginInodes& begin,
                   const TakeInode& take) {
  const os::UniqueFd there(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct statfs system {};
  if (!there || ::fstatfs(there.get(), &system) != 0) return failure_from_errno(root, errno);
  switch (static_cast<uint32_t>(system.f_type)) {
    case XFS_SUPER_MAGIC:
      return scan_xfs(there.get(), begin, take);
    case BTRFS_SUPER_MAGIC:
      return scan_btrfs(there.get(), one_file_system, begin, take);
    default:
      break;
  }
  const auto tables = Ext4Tables::open(root, false);
  if (!tables) return failure(tables.error());
  if (tables->root() != kExt4Root)
    return failure(root + ": it is not the whole of a file system", EOPNOTSUPP);
  begin(tables->workers());
  return tables->scan(take);
}

}  // namespace minke::storage
