// Data sets on the node's own disk: unpacked or copied once, kept between jobs, and shared by
// all jobs of a user.
//
// The cache is a directory with one entry for each state of each source (path, inode, size, times; of a tree,
// of everything in it). KEY/content is read-only; KEY/image is mounted by each job for itself (both exist
// after a step that could not mount it). KEY/source names the source. KEY/users/ has a file for each job's
// directory that uses the entry, which counts for as long as that directory exists. So a crash of a job or of
// the machine frees what it used. Entries are made beside and appear in one step; the least recently used go
// when space is needed, never those in use.
//
// Any number of processes; locks (flock) in the cache's directory. Blocking.
#pragma once

#include <atomic>
#include <string>

#include "base/result.h"
#include "storage/failures.h"

namespace minke::storage {

struct Staged {
  std::string path;     // its path for the job
  bool cached = false;  // whether it was there already
};

struct StageOptions {
  std::string cache = {};  // empty: only for this directory, and writable; else from the cache
  bool mount =
      false;  // squashfs images, where that is possible; as long as the job, or the caller's processes
  const std::atomic<bool>* stop = nullptr;
};

// Brings `source` to `directory`/NAME: an archive unpacked (NAME without its suffix), anything else copied.
// From the cache it is a link, or a mounted image. Fails as copy_tree and unpack do, and with EEXIST if
// something else is there.
Result<Staged> stage(const std::string& source, const std::string& directory, const StageOptions& options,
                     Failures& failures);

}  // namespace minke::storage
