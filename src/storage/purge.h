// Finds, and removes where that is asked for, what nobody has used for long: regular files and symbolic links
// whose time of access and time of change are both older than a limit; the younger of the two counts.
// Directories stay. Each is looked at once more right before it is removed, in the directory that it was
// found in: what was touched meanwhile stays, and no link leads out of the tree. Killed at any point, what is
// left is found by the next one. With the caller's rights; blocking.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "storage/failures.h"
#include "storage/purge_tables.h"

namespace minke::storage {

struct PurgeOptions {
  int64_t before = 0;   // s since the epoch
  bool remove = false;  // else only found
  int record = -1;      // a descriptor: a line for each is appended, before it is removed; -1: none
  bool sync = true;     // the record is on the disk in the end; what is removed should be
  bool tables = true;   // as root, of a whole ext4 from its own tables (purge_tables.h); else by a walk
  TableLimits limits = {};
};

struct PurgeResult {
  uint64_t files = 0, space = 0;  // found; or removed
  Failures failures;
};

// Errors: the tree cannot be opened; the record cannot be written (nothing more is removed then).
Status purge_tree(const std::string& root, const PurgeOptions& options, PurgeResult& result);

}  // namespace minke::storage
