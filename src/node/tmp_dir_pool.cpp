#include "node/tmp_dir_pool.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "node/tmp_dir.h"

namespace minke::node {
namespace {

constexpr off_t kLargestReused = 4096;  // a directory that was once full stays slow to read

std::string_view parent_of(std::string_view path) {
  return path.substr(0, path.rfind('/') + 1);
}

// As good as new: empty, private, this user's, and small.
bool reusable(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd), ::closedir);
  if (!directory) {
    ::close(fd);
    return false;
  }
  struct stat info {};
  if (::fstat(fd, &info) != 0 || info.st_uid != ::geteuid() || (info.st_mode & 07777) != 0700 ||
      info.st_size > kLargestReused) {
    return false;
  }
  while (dirent* entry = ::readdir(directory.get())) {
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) return false;
  }
  return true;
}

}  // namespace

TmpDirPool::TmpDirPool(std::string name) : name_(std::move(name)) {}
TmpDirPool::~TmpDirPool() {
  remove_spares();
}

Status TmpDirPool::make(const std::string& path) {
  if (!spares_.empty() && parent_of(spares_.back()) == parent_of(path)) {
    std::string spare = std::move(spares_.back());
    spares_.pop_back();
    if (::renameat2(AT_FDCWD, spare.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return {};
    ::rmdir(spare.c_str());
  }
  return make_tmp_dir(path);
}

bool TmpDirPool::remove_if_empty(const std::string& path) {
  bool fits = spares_.empty() || parent_of(spares_.back()) == parent_of(path);
  if (fits && spares_.size() < kMost && reusable(path)) {
    std::string spare =
        std::string(parent_of(path)) + ".minke-" + name_ + "-" + std::to_string(spares_.size());
    if (std::rename(path.c_str(), spare.c_str()) == 0) {
      spares_.push_back(std::move(spare));
      return true;
    }
  }
  return remove_empty_tmp_dir(path);
}

void TmpDirPool::remove_spares() {
  for (const std::string& spare : spares_) ::rmdir(spare.c_str());
  spares_.clear();
}

}  // namespace minke::node
