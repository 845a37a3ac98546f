#include "node/tmp_dir_pool.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace minke::node {
namespace {

constexpr off_t kLargestReused = 4096;  // a directory that was once large stays slow to read

std::string_view parent_of(std::string_view path) {
  return path.substr(0, path.rfind('/') + 1);
}

// The owner of a directory that is as good as new: empty, private and small; else nothing.
std::optional<Owner> reusable(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd), ::closedir);
  if (!directory) {
    ::close(fd);
    return std::nullopt;
  }
  struct stat info {};
  if (::fstat(fd, &info) != 0 || (info.st_mode & 07777) != 0700 || info.st_size > kLargestReused) {
    return std::nullopt;
  }
  while (dirent* entry = ::readdir(directory.get())) {
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) return std::nullopt;
  }
  return Owner{info.st_uid, info.st_gid};
}

// The owner may have put something into it meanwhile.
void drop(const std::string& spare) {
  if (!remove_empty_tmp_dir(spare)) fork_tmp_dir_removal(spare);
}

}  // namespace

TmpDirPool::TmpDirPool(std::string name) : name_(std::move(name)) {}
TmpDirPool::~TmpDirPool() {
  remove_spares();
}

Status TmpDirPool::make(const std::string& path, std::optional<Owner> owner) {
  const Owner whose = owner.value_or(Owner{::geteuid(), ::getegid()});
  for (std::optional<Spare>& slot : spares_) {
    if (!slot || slot->owner != whose || parent_of(slot->path) != parent_of(path)) continue;
    const std::string spare = std::exchange(slot, std::nullopt)->path;
    if (::renameat2(AT_FDCWD, spare.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return {};
    drop(spare);
    break;
  }
  return make_tmp_dir(path, owner);
}

bool TmpDirPool::remove_if_empty(const std::string& path) {
  const std::optional<Owner> owner = reusable(path);
  if (std::optional<Spare>* slot = owner ? slot_for(*owner) : nullptr) {
    std::string spare =
        std::string(parent_of(path)) + ".minke-" + name_ + "-" + std::to_string(slot - spares_.data());
    if (std::rename(path.c_str(), spare.c_str()) == 0) {
      *slot = Spare{std::move(spare), *owner};
      return true;
    }
  }
  return remove_empty_tmp_dir(path);
}

std::optional<TmpDirPool::Spare>* TmpDirPool::slot_for(const Owner& owner) {
  std::optional<Spare>* anothers = nullptr;
  for (std::optional<Spare>& slot : spares_) {
    if (!slot) return &slot;
    if (slot->owner != owner) anothers = &slot;
  }
  if (anothers != nullptr) drop(std::exchange(*anothers, std::nullopt)->path);
  return anothers;
}

bool TmpDirPool::empty() const {
  return std::ranges::none_of(spares_, [](const std::optional<Spare>& spare) { return spare.has_value(); });
}

void TmpDirPool::remove_spares() {
  for (std::optional<Spare>& spare : spares_) {
    if (spare) drop(std::exchange(spare, std::nullopt)->path);
  }
}

}  // namespace minke::node
