// Copies a file or a tree with everything that it has: modes, owners, times, extended attributes, ACLs, hard
// links, holes. With several threads; blocking.
//
// What holds:
// - Success means complete and on the disk (syncfs), and nothing changed while it was read.
// - A destination that was not there appears in one step, when all of it is there. Until then it grows beside
// it
//   as .NAME.minke-partial, where the same copy started again goes on.
// - Into a destination that is there, each file appears in one step.
// - What is the same already (type, size, time of change) is not copied again.
// - No symbolic link below the two roots is followed.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "storage/failures.h"

namespace minke::storage {

struct CopyOptions {
  unsigned threads = 0;
  bool keep_owner = false;     // owners, as root
  bool keep_group = false;     // groups, but in directories that give their own (setgid) for others than root
  bool read_only = false;      // without anybody's permission to write
  bool remove_others = false;  // what the source has not goes from a destination that was there
  bool sync = true;            // false: leave it to the caller
  const std::atomic<bool>* stop = nullptr;
};

struct CopyProgress {
  std::atomic<uint64_t> files{0}, bytes{0};  // copied
  std::atomic<uint64_t> same{0};             // that were there already
  std::atomic<uint64_t> removed{0};
  Failures failures;
};

// Makes `to` what `from` is. Errors: nothing could be begun (EINVAL: one lies in the other), or (code
// ECANCELED) it was stopped, or EIO: see the failures; what was to appear in one step has not appeared then.
Status copy_tree(const std::string& from, const std::string& to, const CopyOptions& options,
                 CopyProgress& progress);

// Whether two trees are the same: types, sizes, modes, content, and nothing in one alone. The differences are
// told to `failures`. Reads `to` from the disk, not from memory, where the system drops what it has. Errors:
// a root cannot be opened.
Status compare_trees(const std::string& from, const std::string& to, unsigned threads, Failures& failures,
                     CopyProgress* progress = nullptr);

}  // namespace minke::storage
