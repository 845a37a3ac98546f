// A job's private temporary directory ($SLURM_TMPDIR).
//
// Removing never follows a symbolic link, and never leaves the directory. Its content is the user's: there
// may be any number of files, any depth, and directories without permissions.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"

namespace minke::node {

// Makes the last component, 0700. One that is there already and belongs to this user is fine.
// `owner`: to whom it is handed over, where that is not this process's user.
struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;

  bool operator==(const Owner&) const = default;
};
Status make_tmp_dir(const std::string& path, std::optional<Owner> owner = std::nullopt);

// A directory of root's in memory (a tmpfs of its own) that others may pass through, where it is not there
// yet.
Status make_memory_dir(const std::string& path);

// Returns whether it is gone: it was empty, or was not there. False means that there is something in it.
// Does not block for long.
bool remove_empty_tmp_dir(const std::string& path);

// Removes it with everything in it. May take long; the launcher does it in a process of its own.
Status remove_tmp_dir(const std::string& path);

// Forks a process that does so, after it has unmounted what is mounted there if the directory is this user's
// own (of another user's, nothing mounted is touched), and ends with 0 when it is gone, or (unless it
// `outlives` it) dies with its parent. Returns its pid; negated errno: no process.
pid_t fork_tmp_dir_removal(const std::string& path, bool outlives = false);

// Before the name of what is removed while nobody waits for it. A launcher removes what it finds under such a
// name.
inline constexpr char kSetAside[] = ".minke-gone-";

// Those of jobs of an earlier boot, in a directory that holds no other cluster's, are set aside: a power cut
// may leave what the launcher does not know of any more, or has removed. `boot`: sets the names apart.
void set_aside_tmp_dirs(const std::string& parent, const std::string& boot);

// Removes the empty ones of other jobs than these: a daemon that was killed before the start of a job was
// stored leaves one.
void remove_unused_tmp_dirs(const std::string& parent, const std::set<uint32_t>& jobs);

}  // namespace minke::node
