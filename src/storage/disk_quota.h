// Limits that the file system itself enforces for one directory and all below: btrfs by the subvolume's
// qgroup (space only), XFS and ext4 by project quotas if they are mounted with them. For root; blocking.
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

// `project` is the number by which XFS and ext4 know the directory; it is unique and not 0. kNobody means
// that this file system enforces no limits, so the caller must count. Existing entries of the directory get
// the number, too. Fails if the file system could enforce them, and did not.
Result<HeldBy> set_disk_limits(const std::string& directory, uint32_t project, const DiskLimits& limits);

// Makes a directory that btrfs can snapshot and limit by itself. Returns false if not: not on btrfs.
bool make_subvolume(const std::string& path);

}  // namespace minke::storage
