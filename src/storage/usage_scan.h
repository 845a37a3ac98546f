// What a tree holds: bytes, files, who they belong to, how large they are, and which directories have most of
// them. Counts as du does: a file with several names once, space as the file system has given it out.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace minke::storage {

struct Amount {
  uint64_t space = 0;    // bytes given out by the file system
  uint64_t bytes = 0;    // bytes that reading gives
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
      suffix_bytes;  // ".jpg": bytes of the regular files so called; the most used
  struct Heavy {
    std::string path;
    Amount amount;  // of everything below
  };
  std::vector<Heavy> heaviest;  // directories with most entries of their own, most first
  std::vector<Error> errors;    // the first of them: what could not be looked at
  uint64_t error_count = 0;
};

struct UsageOptions {
  unsigned threads = 0;
  bool one_file_system = false;
  bool snapshots = true;  // false: what is in a root's .snapshots is not its user's to answer for
  size_t heaviest = 0;    // how many directories to name
  bool suffixes = false;  // whether to fill suffix_bytes
  // Whether a whole file system may be counted from its inode tables, as root can (inode_tables.h): where
  // nothing is asked of single directories and names, and nothing else is mounted below.
  bool tables = true;
};

// Blocking; uses threads of its own. A root that lies in another is not counted twice. Errors: a root cannot
// be opened. What cannot be read within is counted
// and goes on.
Result<Usage> scan_usage(const std::vector<std::string>& roots, const UsageOptions& options);

}  // namespace minke::storage
