// Limits that the file system itself holds for one directory and all below: btrfs by the subvolume's qgroup
// (space only), XFS and ext4 by project quotas where they are mounted with them. For root; blocking.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace minke::storage {

struct DiskLimits {
  uint64_t space = 0, hard_space = 0;  // bytes; 0: none
  uint64_t files = 0, hard_files = 0;
};

enum class HeldBy { kNobody, kQgroup, kProject };

// `project`: the number by which XFS and ext4 know the directory; nobody else's, not 0. kNobody: this file
// system holds no limits; counting has to do. What is in the directory already is given the number, too.
// Errors: it could, and did not.
Result<HeldBy> set_disk_limits(const std::string& directory, uint32_t project, const DiskLimits& limits);

// Makes a directory one that btrfs can snapshot and limit by itself. False: it was not made; not on btrfs.
bool make_subvolume(const std::string& path);

}  // namespace minke::storage
