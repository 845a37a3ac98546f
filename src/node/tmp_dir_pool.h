// Temporary directories of jobs that end empty are kept a moment for the jobs to come.
//
// Making and removing a directory a thousand times a second is slow on ext4, which looks for an inode that
// was not freed lately; renaming one is not. To a job there is no difference: its directory appears empty and
// private, and is gone with it. One that had an owner is for that owner's jobs only: whoever still has it
// open sees nobody else's files. Spare ones lie beside the jobs', hidden, at most kMost, and go when the
// launcher has been idle for a second. Those that a killed launcher leaves are overwritten by the next one's,
// which have the same names.
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

  // `name`: tells the spare directories of this launcher from others'.
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
  // Where the next spare of this owner goes: nothing where all are his.
  std::optional<Spare>* slot_for(const Owner& owner);

  std::string name_;
  std::array<std::optional<Spare>, kMost> spares_;  // the number is a part of the name
};

}  // namespace minke::node
