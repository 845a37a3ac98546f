// Reads the inode tables and the directories of a mounted ext4 from its block device, in disk order
// and with several threads: far fewer and larger reads than asking for each file by name. The mounted
// file system writes its tables into the same cache of the device, so the data is current when it is
// read; while others change the file system, each entry may be a little older or newer than the next.
// Callers that act on an entry check the file itself once more. Needs read access to the device, as
// root has; blocking.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "storage/inode_tables.h"

namespace minke::storage {

class Ext4Tables {
 public:
  struct Extent {
    uint64_t block = 0, count = 0;  // of the file system
  };
  // A directory, and the place of its content.
  struct DirectoryBlocks {
    uint64_t number = 0;
    std::vector<Extent> extents;
  };

  // Opens the file system that the directory is in. Fails with EOPNOTSUPP for another kind, or if its device
  // cannot be found. `times`: whether the times of inodes must be those that others see now.
  static Result<Ext4Tables> open(const std::string& directory, bool times);
  Ext4Tables(Ext4Tables&&) noexcept;
  ~Ext4Tables();

  unsigned workers() const { return workers_; }
  uint64_t most_inodes() const;            // the largest number there may be
  uint64_t root() const { return root_; }  // the inode of the directory that it was opened by

  // Takes every file, directory … that has a name, in any order, from `workers` threads: `worker` is 0 …
  // workers-1. `directories`, if not null, gets the directories found. Fails if the device cannot be read,
  // and with E2BIG if there are more than `most` directories.
  Status scan(const TakeInode& take, std::vector<DirectoryBlocks>* directories = nullptr,
              size_t most = SIZE_MAX) const;
  // One inode, as it is now.
  std::optional<TableInode> inode(uint64_t number) const;

  // Takes every entry of these directories but "." and "..", in any order, from `workers` threads.
  using Entry =
      std::function<void(unsigned worker, uint64_t directory, uint64_t inode, std::string_view name)>;
  Status entries(const std::vector<DirectoryBlocks>& directories, const Entry& take) const;

 private:
  struct Library;
  Ext4Tables();
  std::unique_ptr<Library> library_;
  os::UniqueFd device_;
  uint64_t root_ = 0;
  unsigned workers_ = 1;
};

}  // namespace minke::storage
