// Copies a file or a tree with all its attributes: modes, owners, times, extended attributes, ACLs, hard
// links, holes. With several threads; blocking.
//
// Guarantees:
// - Success means complete and on the disk (syncfs), and nothing changed while it was read.
// - A destination that was not there appears in one step, when all of it is there. Until then it grows beside
// it
//   as .NAME.minke-partial, where the same copy started again goes on.
// - If the destination exists, each file appears in it in one step.
// - Entries that are already the same (type, size, time of change) are not copied again.
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
  bool keep_group = false;     // groups; users other than root skip directories that pass on theirs (setgid)
  bool read_only = false;      // without write permission for anybody
  bool remove_others = false;  // removes what the source does not have from a destination that was there
  bool sync = true;            // false: leave it to the caller
  const std::atomic<bool>* stop = nullptr;
};

struct CopyProgress {
  std::atomic<uint64_t> files{0}, bytes{0};  // copied
  std::atomic<uint64_t> same{0};             // skipped, because they were there already
  std::atomic<uint64_t> removed{0};
  Failures failures;
};

// Makes `to` a copy of `from`. Errors: nothing could begin (EINVAL: one lies in the other), ECANCELED, or
// EIO: see the failures; a destination that was to appear in one step has not appeared then.
Status copy_tree(const std::string& from, const std::string& to, const CopyOptions& options,
                 CopyProgress& progress);

// Whether two trees are the same: types, sizes, modes, content, and no entry in only one of them. Reports the
// differences to `failures`. Reads `to` from the disk, not from memory, if the system drops its cache. Fails
// if a root cannot be opened.
Status compare_trees(const std::string& from, const std::string& to, unsigned threads, Failures& failures,
                     CopyProgress* progress = nullptr);

}  // namespace minke::storage
