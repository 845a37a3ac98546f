// The tree of a snapshot where the file system makes none itself: unchanged files are linked to those of the
// snapshot before, others are copied; what is one file with several names stays one. Free space is watched
// before each file.
//
// Root's snapshots lie in directories of users, who may move entries of others into them that they could not
// remove themselves. So root marks each directory that it makes, which nobody else can, and removes only what
// is in marked ones, and was there when the snapshot was complete. Blocking; walks with several threads.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "storage/failures.h"
#include "storage/snapshots.h"

namespace minke::storage {

// The mark of a directory of a snapshot; the top one's is when it was complete (s).
Status mark_snapshot(int directory, const std::string& value);
std::optional<std::string> snapshot_mark(int directory);

// Fills `after`, an empty directory that nobody else may enter, with the tree of `root`. `before` is the last
// snapshot, or -1. Fails if the root cannot be walked, or with ENOSPC.
Status copy_for_snapshot(int root, const std::string& path, int before, int after,
                         const SnapshotOptions& options, Failures& failures);

}  // namespace minke::storage
