// A job's private temporary directory ($SLURM_TMPDIR).
//
// Removal never follows a symbolic link and never leaves the directory. The content is the user's: it may
// have any number of files, any depth, and directories without permissions.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"

namespace minke::node {

// Makes the last component with mode 0700. An existing directory of this user is fine. `owner`: the user who
// gets it, if not this process's user.
struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;

  bool operator==(const Owner&) const = default;
};
Status make_tmp_dir(const std::string& path, std::optional<Owner> owner = std::nullopt);

// Makes root's directory in memory (its own tmpfs), which others may pass
// through, if it does not exist yet.
Status make_memory_dir(const std::string& path);

// Returns true if it is gone: it was empty or did not exist. False: it is not
// empty. Does not block for long.
bool remove_empty_tmp_dir(const std::string& path);

// Removes it with everything in it. May take long, so the launcher does it in a child process.
Status remove_tmp_dir(const std::string& path);

// Forks a process that does so and exits with 0 when the directory is gone. It first unmounts what is mounted
// there if the directory is this user's own; other users' mounts are left. Unless it `outlives` its parent,
// it dies with it. Returns its pid, or the negated errno if there is no process.
pid_t fork_tmp_dir_removal(const std::string& path, bool outlives = false);

// Name prefix of directories that are removed in the background. A launcher removes
// what it finds under such a name.
inline constexpr char kSetAside[] = ".minke-gone-";

// Sets aside the directories of jobs of an earlier boot. A power cut may leave directories that the launcher
// no longer knows. `parent` must not have another cluster's directories. `boot` makes the new names unique.
void set_aside_tmp_dirs(const std::string& parent, const std::string& boot);

// Removes empty directories of all jobs but these. A daemon that was killed before it
// stored a job's start may leave one.
void remove_unused_tmp_dirs(const std::string& parent, const std::set<uint32_t>& jobs);

}  // namespace minke::node
