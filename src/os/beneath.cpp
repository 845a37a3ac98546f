#include "os/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace minke::os {

namespace {

Result<UniqueFd> open_by_steps(int directory, const std::string& path, int flags) {
  UniqueFd at;
  for (size_t begin = 0;;) {
    const size_t slash = path.find('/', begin);
    const std::string name = path.substr(begin, slash - begin);
    const bool last = slash == std::string::npos;
    if (name.empty() || name == "..") return failure_from_errno(path, EXDEV);
    const int how = last ? flags : O_PATH | O_DIRECTORY;
    UniqueFd next(::openat(at ? at.get() : directory, name.c_str(), how | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return failure_from_errno(path, errno);
    if (last) return next;
    at = std::move(next);
    begin = slash + 1;
  }
}

}  // namespace

Result<UniqueFd> open_beneath(int directory, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  UniqueFd file(static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how)));
  if (file) return file;
  if (errno == ENOSYS) return open_by_steps(directory, path, flags);
  return failure_from_errno(path, errno);
}

Status check_roots_directory(int directory, const std::string& shown) {
  struct stat status {};
  if (::fstat(directory, &status) != 0) return failure_from_errno(shown, errno);
  if (S_ISDIR(status.st_mode) && status.st_uid == 0 && (status.st_mode & 0022) == 0) return {};
  return failure(shown + " must be root's, and nobody else may write to it", EPERM);
}

}  // namespace minke::os
