#include "storage/pack_items.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "storage/copy_file.h"
#include "storage/tar_archive.h"

namespace minke::storage {

namespace {

constexpr uint64_t kSmall = 128 << 10;  // the readers read them ahead; the writer reads larger ones

// Errors: errno.
Status read_attributes(int file, std::map<std::string, std::string>& attributes) {
  const auto names = attribute_names(file);
  if (!names) return failure(names.error());
  for (const std::string& name : *names) {
    if (!name.starts_with("user.") && !name.starts_with("system.posix_acl_")) continue;
    std::string value(64 << 10, '\0');
    const ssize_t got = ::fgetxattr(file, name.c_str(), value.data(), value.size());
    if (got < 0 && errno == ENODATA) continue;  // gone meanwhile
    if (got < 0) return failure_from_errno(name, errno);
    attributes[name] = value.substr(0, static_cast<size_t>(got));
  }
  return {};
}

}  // namespace

char* ContentMemory::take(size_t size) {
  static_assert(kSmall <= kBlock);
  if (used_blocks_ == 0 || kBlock - used_ < size) {
    if (used_blocks_ == blocks_.size()) blocks_.push_back(std::make_unique_for_overwrite<char[]>(kBlock));
    ++used_blocks_;
    used_ = 0;
  }
  char* const begin = blocks_[used_blocks_ - 1].get() + used_;
  used_ += size;
  return begin;
}

std::string ItemReader::shown(const PackItem& item) const {
  return item.entry.path.empty() ? from_ : from_ + "/" + item.entry.path;
}
void ItemReader::fail(const PackItem& item, int error_number) const {
  failures_.add(shown(item),
                error_number == ENOENT ? std::string("gone meanwhile") : std::strerror(error_number),
                error_number);
}

void ItemReader::read(PackItem& item, ContentMemory& memory) const {
  const int directory = item.entry.directory->get();
  const char* name = item.entry.name.c_str();
  const int flags = *name == '\0' ? AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW;
  struct statx& status = item.status;
  if (::statx(directory, name, flags, STATX_BASIC_STATS, &status) != 0) return fail(item, errno);
  TarMember& member = item.member;
  member.name = item.entry.path;
  member.mode = status.stx_mode & 07777;
  member.uid = status.stx_uid;
  member.gid = status.stx_gid;
  member.mtime_s = status.stx_mtime.tv_sec;
  member.mtime_ns = status.stx_mtime.tv_nsec;
  if (S_ISDIR(status.stx_mode)) {
    if (*name != '\0') return;  // it could not be entered, which was reported
    member.type = '5';
    if (const Status got = read_attributes(directory, member.attributes); !got)
      return fail(item, got.error().code);
  } else if (S_ISLNK(status.stx_mode)) {
    member.type = '2';
    member.target.resize(status.stx_size + 1);
    const ssize_t length = ::readlinkat(directory, name, member.target.data(), member.target.size());
    if (length < 0) return fail(item, errno);
    member.target.resize(static_cast<size_t>(length));
  } else if (S_ISREG(status.stx_mode)) {
    if (!read_regular(item, directory, name, memory)) return;
  } else if (S_ISSOCK(status.stx_mode)) {
    return;  // it means nothing without its server
  } else {
    member.type = S_ISFIFO(status.stx_mode) ? '6' : S_ISCHR(status.stx_mode) ? '3' : '4';
    member.device_major = status.stx_rdev_major;
    member.device_minor = status.stx_rdev_minor;
  }
  item.ready = true;
}

bool ItemReader::read_regular(PackItem& item, int directory, const char* name, ContentMemory& memory) const {
  item.file.reset(::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!item.file) {
    fail(item, errno);
    return false;
  }
  item.member.size = item.status.stx_size;
  if (const Status got = read_attributes(item.file.get(), item.member.attributes); !got) {
    fail(item, got.error().code);
    return false;
  }
  if (item.member.size > kSmall) return true;
  const size_t size = item.member.size;
  char* const content = memory.take(size);
  item.content = content;
  for (size_t have = 0; have < size;) {
    const ssize_t got = ::pread(item.file.get(), content + have, size - have, static_cast<off_t>(have));
    if (got < 0) {
      fail(item, errno);
      return false;
    }
    if (got == 0) {  // unless it has grown to that length again
      if (unchanged(item)) failures_.add(shown(item), "it changed while it was read", EIO);
      return false;
    }
    have += static_cast<size_t>(got);
  }
  if (!unchanged(item)) return false;
  // A file of the kernel (such as /proc) reports size 0.
  if (char byte; size == 0 && ::pread(item.file.get(), &byte, 1, 0) > 0) {
    failures_.add(shown(item), "it does not tell how large it is", EIO);
    return false;
  }
  item.crc = tar_crc(0, content, size);
  item.file.reset();
  return true;
}

bool ItemReader::unchanged(const PackItem& item) const {
  struct statx after {};
  if (::statx(item.file.get(), "", AT_EMPTY_PATH, STATX_SIZE | STATX_MTIME, &after) == 0 &&
      after.stx_size == item.status.stx_size && same_time(after.stx_mtime, item.status.stx_mtime))
    return true;
  failures_.add(shown(item), "it changed while it was read", EIO);
  return false;
}

}  // namespace minke::storage
