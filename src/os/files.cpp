#include "os/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "os/volatile_file.h"

namespace minke::os {

namespace {

enum class Durability { kNone, kPowerCut };

// Makes the name durable, too, once the file's content is.
Status sync_directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return failure_from_errno(directory, errno);
  return {};
}

Status write_whole(int file, std::string_view contents, mode_t mode, Durability durability) {
  if (::fchmod(file, mode) != 0) return failure_from_errno("fchmod", errno);
  while (!contents.empty()) {
    const ssize_t written = ::write(file, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failure_from_errno("write", errno);
    contents.remove_prefix(static_cast<size_t>(written));
  }
  // Before the rename: a file system may make the new name durable first, and show an empty file under it.
  if (durability == Durability::kPowerCut && ::fsync(file) != 0) return failure_from_errno("fsync", errno);
  return {};
}

Status replace(const std::string& path, std::string_view contents, mode_t mode, Durability durability) {
  const std::string temporary = path + "." + std::to_string(getpid()) + ".new";
  ::unlink(temporary.c_str());
  UniqueFd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file) return failure_from_errno(temporary, errno);
  const Status written = write_whole(file.get(), contents, mode, durability);
  file.reset();
  if (!written) {
    ::unlink(temporary.c_str());
    return failure_from_errno(temporary, written.error().code);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error_number = errno;
    ::unlink(temporary.c_str());
    return failure_from_errno(path, error_number);
  }
  return durability == Durability::kPowerCut ? sync_directory_of(path) : Status();
}

}  // namespace

Status replace_file(const std::string& path, std::string_view contents, mode_t mode) {
  return replace(path, contents, mode, Durability::kPowerCut);
}

Status replace_volatile_file(const std::string& path, std::string_view contents, mode_t mode) {
  return replace(path, contents, mode, Durability::kNone);
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
  // Mostly they exist.
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
