// Reads the inode tables and the directories of a mounted ext4 from its block device, in the order of the
// disk and with several threads: far fewer and larger reads than asking for each file by name. The device's
// cache is the one that the mounted file system itself writes its tables into, so what is read is what is so
// at that moment; while others change the file system, each entry may be a little older or newer than the
// next. Whoever acts on one looks at the file itself once more. Needs to be able to read the device, as root
// can; blocking.
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
  // A directory, and where its content is.
  struct DirectoryBlocks {
    uint64_t number = 0;
    std::vector<Extent> extents;
  };

  // The file system that the directory is in. Code EOPNOTSUPP: another kind, or its device is not to be
  // found. `times`: whether those of the inodes must be as others see them now.
  static Result<Ext4Tables> open(const std::string& directory, bool times);
  Ext4Tables(Ext4Tables&&) noexcept;
  ~Ext4Tables();

  unsigned workers() const { return workers_; }
  uint64_t most_inodes() const;            // the largest number there may be
  uint64_t root() const { return root_; }  // the inode of the directory that it was opened by

  // Every file, directory … that has a name, in any order, from `workers` threads: `worker` is 0 … workers-1.
  // `directories`: where not null, gets those that were met. Errors: the device cannot be read; E2BIG: there
  // are more than `most` directories.
  Status scan(const TakeInode& take, std::vector<DirectoryBlocks>* directories = nullptr,
              size_t most = SIZE_MAX) const;
  // One, as it is now.
  std::optional<TableInode> inode(uint64_t number) const;

  // Every entry of these directories but "." and "..", in any order, from `workers` threads.
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
