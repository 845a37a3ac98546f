// Finds, and removes if asked to, what nobody has used for long: regular files and symbolic links whose time
// of access and time of change are both older than a limit; the younger of the two counts. Directories stay.
// Each file is checked once more right before its removal, in the directory that it was found in: what was
// touched meanwhile stays, and no link leads out of the tree. If a purge is killed, the next one finds what
// is left. With the caller's rights; blocking.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "storage/failures.h"
#include "storage/purge_tables.h"

namespace minke::storage {

struct PurgeOptions {
  int64_t before = 0;   // s since the epoch
  bool remove = false;  // else it only finds them
  int record = -1;      // a descriptor: a line for each is appended, before it is removed; -1: none
  bool sync = true;     // the record is on the disk at the end, and the removals should be
  bool tables = true;   // as root, of a whole ext4 from its own tables (purge_tables.h); else by a walk
  TableLimits limits = {};
};

struct PurgeResult {
  uint64_t files = 0, space = 0;  // found, or removed
  Failures failures;
};

// Fails if the tree cannot be opened, or the record cannot be written (nothing more is removed then).
Status purge_tree(const std::string& root, const PurgeOptions& options, PurgeResult& result);

}  // namespace minke::storage
