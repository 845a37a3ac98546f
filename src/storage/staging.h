// Data sets on the node's own disk: unpacked or copied once, kept between jobs, the same for all jobs of a
// user.
//
// The cache is a directory with one entry for each state of each source (path, inode, size, times; of a tree,
// of everything in it): KEY/content, read-only, or KEY/image, which each job mounts for itself (both, where a
// step that cannot mount it has come, too); KEY/source, what it was made of; KEY/users/, who uses it: a file
// for each job's directory, which counts for as long as that directory is there. So a job's crash, or the
// machine's, frees what it used. Entries are made beside and appear in one step; the least recently used go
// when space is needed, none that somebody uses.
//
// Any number of processes; locks (flock) in the cache's directory. Blocking.
#pragma once

#include <atomic>
#include <string>

#include "base/result.h"
#include "storage/failures.h"

namespace minke::storage {

struct Staged {
  std::string path;     // where it is for the job
  bool cached = false;  // it was there already
};

struct StageOptions {
  std::string cache = {};  // empty: only for this directory, and writable; else from the cache
  bool mount =
      false;  // squashfs images, where that is possible; as long as the job, or the caller's processes
  const std::atomic<bool>* stop = nullptr;
};

// Brings `source` to `directory`/NAME: an archive unpacked (NAME without its suffix), anything else copied.
// From the cache it is a link, or a mounted image. Errors: as of copy_tree and unpack; EEXIST where something
// else is there.
Result<Staged> stage(const std::string& source, const std::string& directory, const StageOptions& options,
                     Failures& failures);

}  // namespace minke::storage
