// Walks a tree with several threads. Each entry is looked at once (statx), no symbolic link is followed,
// and everything is opened relative to the directory that it was found in, so that no rename by others
// leads out of the tree.
//
// Memory is bounded by depth, not by size: a directory is read in pieces, and its next piece waits below the
// subdirectories of the last one. Names may be any bytes, paths of any length. Each directory between the
// root and the current entry has one descriptor open (os::raise_descriptor_limit).
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace minke::storage {

// A directory that is being walked. It lives until everything below it has been visited.
class Directory {
 public:
  // Data that a visitor keeps with a directory.
  struct Note {
    virtual ~Note() = default;
  };

  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }  // of the root: its path as given
  Directory* parent() const { return parent_; }      // of the root: none
  unsigned depth() const { return depth_; }          // of the root: 0
  std::string path() const;                          // of any length
  std::string path_of(const char* entry) const;      // the same with an entry's name behind it

  std::unique_ptr<Note> note;

 private:
  friend class Walk;
  os::UniqueFd fd_;
  std::string name_;
  Directory* parent_ = nullptr;
  unsigned depth_ = 0;
  dev_t device_ = 0;
  std::atomic<uint32_t> users_{1};  // its own reading, and each child that waits or is read
};

// Receives the walk, from its threads: `worker` is 0 … threads-1, and one worker is in one call at a time.
class Visitor {
 public:
  virtual ~Visitor() = default;
  // An entry that is not a directory.
  virtual void visit(unsigned worker, Directory& in, const char* name, const struct statx& status) = 0;
  // A directory, once it is open; also the root. If it returns false, nothing below is visited (and
  // `leave` is not called).
  virtual bool enter(unsigned, Directory&, const struct statx&) { return true; }
  // Everything below has been visited and left. Its descriptor is still open.
  virtual void leave(unsigned, Directory&) {}
  // An entry could not be looked at; the walk goes on.
  virtual void failed(unsigned worker, const std::string& path, int error_number) = 0;
};

struct WalkOptions {
  unsigned threads = 0;               // 0: as many as suit this machine
  unsigned mask = STATX_BASIC_STATS;  // the fields to ask for each entry
  bool one_file_system = false;       // directories on which another one is mounted are not entered
};

unsigned walk_threads(const WalkOptions& options);

// For walks that also read the files: a small file that is not in memory is one read, for which a thread
// waits, and a disk does many of them in the time of one. So there are more than processors, on any machine.
inline constexpr unsigned kReadingThreads = 32;

// Returns when all has been visited, or `stop` has become true. A root that is not a directory is visited
// alone, in a directory without a name: its parent. Fails if the root cannot be opened (errno).
Status walk_tree(const std::string& root, const WalkOptions& options, Visitor& visitor,
                 const std::atomic<bool>* stop = nullptr);
// The same from an open directory; `name` stands for it in paths. The
// descriptor is duplicated.
Status walk_tree(int root, const std::string& name, const WalkOptions& options, Visitor& visitor,
                 const std::atomic<bool>* stop = nullptr);

}  // namespace minke::storage
