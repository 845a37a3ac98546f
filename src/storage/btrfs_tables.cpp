// The inodes of a btrfs, by a search in the trees of its subvolumes (BTRFS_IOC_TREE_SEARCH_V2). Changes that
// the kernel still holds are written into the trees first. One thread, because a tree is one.
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "storage/inode_tables.h"

namespace minke::storage {

namespace {

constexpr size_t kBuffer = 1 << 20;  // bytes of items at once

struct Free {
  void operator()(void* memory) const { ::operator delete(memory); }
};

class Search {
 public:
  explicit Search(int root)
      : root_(root),
        arguments_(static_cast<btrfs_ioctl_search_args_v2*>(
            ::operator new(sizeof(btrfs_ioctl_search_args_v2) + kBuffer))) {}

  // Takes each item of one type in a tree, from one object to another: its object, its offset, its bytes.
  template <typename Take>
  Status each(uint64_t tree, uint32_t type, uint64_t first, uint64_t last, const Take& take) {
    btrfs_ioctl_search_key& key = arguments_->key;
    key = {};
    key.tree_id = tree;
    key.min_objectid = first;
    key.max_objectid = last;
    key.min_type = key.max_type = type;
    key.max_offset = key.max_transid = UINT64_MAX;
    for (;;) {
      key.nr_items = UINT32_MAX;
      arguments_->buf_size = kBuffer;
      if (::ioctl(root_, BTRFS_IOC_TREE_SEARCH_V2, arguments_.get()) != 0) {
        if (errno == EINTR) continue;
        return failure_from_errno("the trees of a btrfs", errno);
      }
      if (key.nr_items == 0) return {};
      const auto* at = reinterpret_cast<const char*>(arguments_->buf);
      btrfs_ioctl_search_header header{};
      for (uint32_t i = 0; i < key.nr_items; ++i) {
        std::memcpy(&header, at, sizeof header);
        at += sizeof header;
        if (header.type == type) take(header, at);
        at += header.len;
      }
      // Continues behind the last one. The range is one of whole keys, so it also contains an object's
      // items of other types.
      const bool passed = header.type > type;
      const bool last_offset = header.offset == UINT64_MAX;
      key.min_objectid = header.objectid + (passed ? 1 : 0);
      key.min_type = passed ? type : header.type + (last_offset ? 1 : 0);
      key.min_offset = passed || last_offset ? 0 : header.offset + 1;
      if (key.min_objectid > last) return {};
    }
  }

 private:
  int root_;
  std::unique_ptr<btrfs_ioctl_search_args_v2, Free> arguments_;
};

TableInode decode(uint64_t number, const btrfs_inode_item& item, uint64_t block_bytes) {
  TableInode inode;
  inode.number = number;
  inode.mode = le32toh(item.mode);
  inode.uid = le32toh(item.uid);
  inode.gid = le32toh(item.gid);
  inode.links = le32toh(item.nlink);
  inode.size = le64toh(item.size);
  inode.space = (le64toh(item.nbytes) + block_bytes - 1) / block_bytes * block_bytes;  // as in stat(2)
  inode.atime = static_cast<int64_t>(le64toh(item.atime.sec));
  inode.ctime = static_cast<int64_t>(le64toh(item.ctime.sec));
  return inode;
}

}  // namespace

Status scan_btrfs(int root, bool one_file_system, const BeginInodes& begin, const TakeInode& take) {
  struct stat status {};
  btrfs_ioctl_ino_lookup_args lookup{};
  lookup.objectid = BTRFS_FIRST_FREE_OBJECTID;
  btrfs_ioctl_fs_info_args info{};
  if (::fstat(root, &status) != 0 || ::ioctl(root, BTRFS_IOC_FS_INFO, &info) != 0 ||
      ::ioctl(root, BTRFS_IOC_INO_LOOKUP, &lookup) != 0)  // treeid 0: that of `root`
    return failure("the trees of this btrfs cannot be asked for", EOPNOTSUPP);
  if (status.st_ino != BTRFS_FIRST_FREE_OBJECTID)
    return failure("it is not the root of its subvolume", EOPNOTSUPP);
  if (::syncfs(root) != 0) return failure_from_errno("writing to the disk", errno);
  begin(1);
  Search search(root);
  std::vector<uint64_t> trees = {lookup.treeid};
  std::set<uint64_t> known(trees.begin(), trees.end());
  for (size_t at = 0; at < trees.size(); ++at) {
    const uint64_t tree = trees[at];
    const Status scanned =
        search.each(tree, BTRFS_INODE_ITEM_KEY, BTRFS_FIRST_FREE_OBJECTID, BTRFS_LAST_FREE_OBJECTID,
                    [&](const btrfs_ioctl_search_header& header, const char* bytes) {
                      btrfs_inode_item item{};
                      if (header.len < sizeof item) return;
                      std::memcpy(&item, bytes, sizeof item);
                      if (item.nlink != 0) take(0, decode(header.objectid, item, info.sectorsize));
                    });
    if (!scanned) return scanned;
    if (one_file_system) return {};
    // Lists the subvolumes in it, which have names in its directories.
    const Status listed = search.each(BTRFS_ROOT_TREE_OBJECTID, BTRFS_ROOT_REF_KEY, tree, tree,
                                      [&](const btrfs_ioctl_search_header& header, const char*) {
                                        if (known.insert(header.offset).second)
                                          trees.push_back(header.offset);
                                      });
    if (!listed) return listed;
  }
  return {};
}

}  // namespace minke::storage
