// Lists the entries of a tree one after the other, in the order of their names: for output that must be in
// order. One thread. Memory: the names in the directories on the way down. No symbolic link is followed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "os/fd.h"
#include "storage/failures.h"

namespace minke::storage {

struct ListedEntry {
  std::shared_ptr<os::UniqueFd> directory;  // open for as long as somebody needs it
  std::string name;                         // in the directory; empty: the directory itself
  std::string path;                         // below the root; empty: the root
};

class TreeList {
 public:
  TreeList(std::string root, Failures& failures);
  bool is_open() const { return !levels_.empty(); }
  // A directory comes before its content. Returns false at the end.
  bool next(ListedEntry& entry);

 private:
  struct Level {
    std::shared_ptr<os::UniqueFd> directory;
    std::string path;
    std::vector<std::pair<std::string, bool>> names;  // whether it may be a directory; the last one is next
  };
  bool descend(int parent, const std::string& name, const std::string& path);

  std::string root_;
  Failures& failures_;
  std::vector<Level> levels_;
  bool root_told_ = false;
};

}  // namespace minke::storage
