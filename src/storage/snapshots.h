// Snapshots of a directory, in the directory: .snapshots/@GMT-2026.11.21-16.00.00, by UTC.
//
// A subvolume of btrfs is snapshot by the file system, read-only and in no time. Elsewhere a snapshot is a
// tree whose unchanged files are the last one's (hard links), and whose others are copied. It takes its name
// only when it is complete: what a killed one left is removed by the next. With the caller's rights;
// blocking.
//
// Root's snapshots of users' directories hold against these users: .snapshots must be root's, each directory
// made there carries a mark that only root can give, and what is removed with a snapshot is what was in it
// when it was made. Anything else that somebody moved into it stays, in .snapshots/left-….
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "storage/failures.h"
#include "storage/tiers.h"

namespace minke::storage {

inline constexpr char kSnapshotDirectory[] = ".snapshots";

std::string snapshot_name(int64_t time);                      // s since the epoch
std::optional<int64_t> snapshot_time(std::string_view name);  // nothing: it is none
// Those of a directory, the latest first; none where there are none.
std::vector<int64_t> list_snapshots(const std::string& directory);

// Which of them the rules keep: of each of the last so many periods the first one. The latest always stays.
std::vector<int64_t> expired_snapshots(std::vector<int64_t> times, const std::vector<SnapshotRule>& rules,
                                       int64_t now);
// When the next one is due, at the earliest `now`; rules: at least one.
int64_t next_snapshot(const std::vector<int64_t>& times, const std::vector<SnapshotRule>& rules, int64_t now);

// `without`: a directory below that is left out (the cluster's own home); may be empty. What could not be
// read is told to `failures`, and is not in it. Errors: nothing could be made.
Status make_snapshot(const std::string& directory, int64_t time, const std::string& without,
                     Failures& failures);
Status remove_snapshot(const std::string& directory, int64_t time, Failures& failures);
// Whether this directory is one that the file system itself snapshots.
bool is_subvolume(int directory);

// What a file was in each snapshot above it in which it was another one than in the one before; the latest
// first. `path`: absolute, without "..".
struct Version {
  int64_t snapshot = 0;  // s
  std::string path;      // of the file in the snapshot
  uint64_t size = 0;
  int64_t changed = 0;  // s
  bool directory = false;
};
std::vector<Version> versions_of(const std::string& path);

}  // namespace minke::storage
