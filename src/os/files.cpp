#include "os/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace minke::os {

Status replace_file(const std::string& path, std::string_view contents, mode_t mode) {
  const std::string temporary = path + "." + std::to_string(getpid()) + ".new";
  ::unlink(temporary.c_str());
  UniqueFd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file) return failure_from_errno(temporary, errno);
  ::fchmod(file.get(), mode);
  while (!contents.empty()) {
    const ssize_t written = ::write(file.get(), contents.data(), contents.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      const int error_number = errno;
      ::unlink(temporary.c_str());
      return failure_from_errno(temporary, error_number);
    }
    contents.remove_prefix(static_cast<size_t>(written));
  }
  file.reset();
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error_number = errno;
    ::unlink(temporary.c_str());
    return failure_from_errno(path, error_number);
  }
  return {};
}

Result<std::string> read_file(const std::string& path, size_t limit) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failure_from_errno(path, errno);
  std::string contents;
  char buffer[64 << 10];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof(buffer));
    if (got < 0) {
      if (errno == EINTR) continue;
      return failure_from_errno(path, errno);
    }
    if (got == 0) return contents;
    contents.append(buffer, static_cast<size_t>(got));
    if (contents.size() > limit) return failure_from_errno(path, EFBIG);
  }
}

Status make_directories(const std::string& path, mode_t mode) {
  // Mostly they are there.
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST) return failure_from_errno(part, errno);
    if (end == std::string::npos) return {};
  }
}

Result<UniqueFd> lock_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return failure_from_errno(path, errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return failure_from_errno(path, errno);
  return file;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace minke::os
