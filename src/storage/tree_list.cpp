#include "storage/tree_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace minke::storage {

TreeList::TreeList(std::string root, Failures& failures) : root_(std::move(root)), failures_(failures) {
  descend(AT_FDCWD, root_, "");
}

bool TreeList::descend(int parent, const std::string& name, const std::string& path) {
  auto directory = std::make_shared<os::UniqueFd>(
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const std::string shown = path.empty() ? root_ : root_ + "/" + path;
  if (!*directory) {
    if (errno != ENOTDIR && errno != ELOOP && errno != ENOENT) failures_.add(shown, errno);
    return false;
  }
  DIR* stream = ::fdopendir(::fcntl(directory->get(), F_DUPFD_CLOEXEC, 0));
  if (stream == nullptr) {
    failures_.add(shown, errno);
    return false;
  }
  Level level{std::move(directory), path, {}};
  errno = 0;
  while (const dirent* entry = ::readdir(stream)) {
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      level.names.emplace_back(entry->d_name, entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
  }
  if (errno != 0) failures_.add(shown, errno);
  ::closedir(stream);
  std::sort(level.names.begin(), level.names.end(), std::greater<>());
  levels_.push_back(std::move(level));
  return true;
}

bool TreeList::next(ListedEntry& entry) {
  if (!root_told_) {
    root_told_ = true;
    if (levels_.empty()) return false;
    entry = {levels_.back().directory, "", ""};
    return true;
  }
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.names.empty()) {
      levels_.pop_back();
      continue;
    }
    auto [name, maybe_directory] = std::move(level.names.back());
    level.names.pop_back();
    std::string path = level.path.empty() ? name : level.path + "/" + name;
    if (maybe_directory && descend(level.directory->get(), name, path)) {
      entry = {levels_.back().directory, "", std::move(path)};
    } else {
      entry = {level.directory, std::move(name), std::move(path)};
    }
    return true;
  }
  return false;
}

}  // namespace minke::storage
