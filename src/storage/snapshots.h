// Snapshots of a directory, in the directory: .snapshots/@GMT-2026.11.21-16.00.00, by UTC.
//
// btrfs makes a snapshot of a subvolume itself, read-only and in no time. Elsewhere a snapshot is
// a tree whose unchanged files are hard links to the last one's; the others are copied, by shared blocks if
// the file system can (XFS, btrfs). It gets its name only when it is complete: the next one removes what a
// killed one left. With the caller's rights; blocking.
//
// Root's snapshots of users' directories are safe against these users: .snapshots must be root's, each
// directory made there carries a mark that only root can set, and a removal takes only what was in the
// snapshot when it was made. Anything that somebody moved into it stays, in .snapshots/left-….
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "storage/failures.h"
#include "storage/free_space.h"
#include "storage/tiers.h"

namespace minke::storage {

inline constexpr char kSnapshotDirectory[] = ".snapshots";

std::string snapshot_name(int64_t time);                      // s since the epoch
std::optional<int64_t> snapshot_time(std::string_view name);  // nothing if it is not one
// Returns those of a directory, the latest first; empty if there are none.
std::vector<int64_t> list_snapshots(const std::string& directory);

// Returns those to remove: the rules keep the first of each of the last so many periods. The latest stays.
std::vector<int64_t> expired_snapshots(std::vector<int64_t> times, const std::vector<SnapshotRule>& rules,
                                       int64_t now);
// Returns when the next one is due, not before `now`; there must be at least one rule.
int64_t next_snapshot(const std::vector<int64_t>& times, const std::vector<SnapshotRule>& rules, int64_t now);

struct SnapshotOptions {
  std::string without;  // a directory below that is left out (the cluster's own home); may be empty
  Reserve keep_free;    // what must stay free on the disk, before and while files are copied
};
// Reports to `failures` what could not be read, and leaves it out. Fails if nothing could be made: ENOSPC if
// too little would stay free; nothing of it is left then.
Status make_snapshot(const std::string& directory, int64_t time, const SnapshotOptions& options,
                     Failures& failures);
Status remove_snapshot(const std::string& directory, int64_t time, Failures& failures);
// Whether the file system itself can make snapshots of this directory.
bool is_subvolume(int directory);

// The versions of a file in the snapshots above it: one for each snapshot in which it differs from the one
// before, the latest first. `path` is absolute, without "..".
struct Version {
  int64_t snapshot = 0;  // s
  std::string path;      // of the file in the snapshot
  uint64_t size = 0;
  int64_t changed = 0;  // s
  bool directory = false;
};
std::vector<Version> versions_of(const std::string& path);

}  // namespace minke::storage
