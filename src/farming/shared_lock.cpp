#include "farming/shared_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>

#include "os/files.h"
#include "text/number.h"

namespace minke::farming {
namespace {

struct flock one_byte(short type, uint64_t byte) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<SharedLock> SharedLock::open(const std::string& path) {
  os::UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) return failure_from_errno(path, errno);
  return SharedLock(path, std::move(file));
}

Status SharedLock::failed(int error_number) const {
  if (error_number == ENOLCK || error_number == ENOSYS || error_number == EOPNOTSUPP)
    return failure(path_ +
                       ": this file system has no locks: put the farm on another one, or have it mounted " +
                       "with locks (Lustre: flock)",
                   error_number);
  return failure_from_errno(path_, error_number);
}

Status SharedLock::hold(uint64_t byte) {
  auto lock = one_byte(F_WRLCK, byte);
  while (::fcntl(file_.get(), F_OFD_SETLKW, &lock) != 0) {
    if (errno != EINTR) return failed(errno);
  }
  return {};
}

Result<bool> SharedLock::try_hold(uint64_t byte) {
  auto lock = one_byte(F_WRLCK, byte);
  if (::fcntl(file_.get(), F_OFD_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return failure(failed(errno).error());
}

void SharedLock::release(uint64_t byte) {
  auto lock = one_byte(F_UNLCK, byte);
  ::fcntl(file_.get(), F_OFD_SETLK, &lock);
}

Result<bool> SharedLock::is_held_elsewhere(uint64_t byte) {
  auto lock = one_byte(F_WRLCK, byte);
  if (::fcntl(file_.get(), F_OFD_GETLK, &lock) != 0) return failure(failed(errno).error());
  return lock.l_type != F_UNLCK;
}

bool SharedLock::are_local(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return false;
  const auto mounts = os::read_file("/proc/self/mountinfo", size_t{8} << 20);
  if (!mounts) return false;
  char device[32];
  std::snprintf(device, sizeof device, "%u:%u", major(info.st_dev), minor(info.st_dev));
  for (const std::string_view line : text::split(*mounts, '\n')) {
    const auto words = text::split(line, ' ');
    if (words.size() < 7 || words[2] != device) continue;
    for (const std::string_view option : text::split(words.back(), ','))
      if (option == "localflock" || option == "noflock" || option == "nolock" || option == "local_lock=all" ||
          option == "local_lock=posix")
        return true;
  }
  return false;
}

}  // namespace minke::farming
