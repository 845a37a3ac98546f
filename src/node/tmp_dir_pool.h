// TmpDirPool: keeps temporary directories of jobs that ended empty for a moment, for the next jobs.
//
// Making and removing a thousand directories a second is slow on ext4, which searches for an inode that was
// not freed recently; renaming is fast. A job sees no difference: its directory appears empty and private,
// and goes with it. A directory that had an owner serves only that owner's jobs, so a process that still has
// it open sees no other user's files. Spare directories lie hidden beside the jobs' directories, at most
// kMost of them, and are removed when the launcher has been idle for a second. The next launcher overwrites
// those that a killed launcher left, because it uses the same names.
//
// One thread.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/result.h"
#include "node/tmp_dir.h"

namespace minke::node {

class TmpDirPool {
 public:
  static constexpr size_t kMost = 48;

  // `name` distinguishes this launcher's spare directories from others'.
  explicit TmpDirPool(std::string name);
  ~TmpDirPool();  // removes the spare ones

  Status make(const std::string& path, std::optional<Owner> owner = std::nullopt);  // as make_tmp_dir
  bool remove_if_empty(const std::string& path);                                    // as remove_empty_tmp_dir
  void remove_spares();
  bool empty() const;

 private:
  struct Spare {
    std::string path;
    Owner owner;
  };
  // The slot for the next spare of this owner; null if this owner has all slots.
  std::optional<Spare>* slot_for(const Owner& owner);

  std::string name_;
  std::array<std::optional<Spare>, kMost> spares_;  // the index is part of the name
};

}  // namespace minke::node
