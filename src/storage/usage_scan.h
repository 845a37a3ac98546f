// The content of a tree: bytes, files, their owners and sizes, and the directories that have most of them.
// Counts as du does: a file with several names once, space as allocated by the file system.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace minke::storage {

struct Amount {
  uint64_t space = 0;    // bytes allocated by the file system
  uint64_t bytes = 0;    // bytes that reading returns
  uint64_t entries = 0;  // what quotas count as files: inodes of any kind
  Amount& operator+=(const Amount& other);
};

inline constexpr size_t kSizeClasses = 65;  // class c: below 2^c bytes, and at least half of that; 0: empty

struct Usage {
  Amount total;
  uint64_t files = 0, directories = 0, links = 0, others = 0;  // regular files, …, symbolic links, the rest
  uint64_t extra_names = 0;                                    // of files that were counted already
  std::array<uint64_t, kSizeClasses> size_counts{}, size_bytes{};  // regular files only
  std::map<std::pair<uid_t, gid_t>, Amount> owners;
  std::map<std::string, uint64_t>
      suffix_bytes;  // ".jpg": bytes of the regular files of that suffix; the largest ones
  struct Heavy {
    std::string path;
    Amount amount;  // everything below
  };
  std::vector<Heavy> heaviest;  // directories with most entries of their own, most first
  std::vector<Error> errors;    // the first of the entries that could not be looked at
  uint64_t error_count = 0;
};

struct UsageOptions {
  unsigned threads = 0;
  bool one_file_system = false;
  bool snapshots = true;  // false: skips a root's .snapshots, which its user does not control
  size_t heaviest = 0;    // how many directories to name
  bool suffixes = false;  // whether to fill suffix_bytes
  // Whether root may count a whole file system from its inode tables (inode_tables.h): if the caller asks
  // nothing about single directories and names, and nothing else is mounted below.
  bool tables = true;
  std::atomic<uint64_t>* entered = nullptr;  // counts directories, for another thread; not with tables
};

// Blocking; uses threads of its own. A root that lies in another is not counted twice.
// Fails if a root cannot be opened. Entries within that cannot be read are counted,
// and the scan goes on.
Result<Usage> scan_usage(const std::vector<std::string>& roots, const UsageOptions& options);

}  // namespace minke::storage
