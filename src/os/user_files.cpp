#include "os/user_files.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "os/become.h"
#include "os/fd.h"

namespace minke::os {

namespace {

Result<std::string> read_tail(const std::string& path, size_t bytes) {
  // O_NONBLOCK: a pipe that nobody writes to must not keep us.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return failure_from_errno(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failure_from_errno(path, errno);
  if (!S_ISREG(status.st_mode)) return failure(path + " is no regular file", EINVAL);
  off_t at = std::max<off_t>(0, status.st_size - static_cast<off_t>(bytes));
  std::string text(bytes, '\0');
  size_t length = 0;
  while (length < bytes) {
    const ssize_t got = ::pread(file.get(), text.data() + length, bytes - length, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure_from_errno(path, errno);
    if (got == 0) break;
    length += static_cast<size_t>(got);
    at += got;
  }
  text.resize(length);
  return text;
}

void write_all(int fd, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(fd, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    at += written;
    size -= static_cast<size_t>(written);
  }
}

}  // namespace

bool become_user(uid_t uid, gid_t gid) {
  if (::geteuid() != 0 || uid == 0) return true;
  std::vector<gid_t> groups;
  if (const passwd* user = ::getpwuid(uid)) {
    int count = 65536;  // the kernel's limit
    groups.resize(static_cast<size_t>(count));
    if (::getgrouplist(user->pw_name, gid, groups.data(), &count) < 0) return false;
    groups.resize(static_cast<size_t>(count));
  }
  return become(uid, gid, groups);
}

Result<std::string> read_tail_as(uid_t uid, gid_t gid, const std::string& path, size_t bytes) {
  if (::geteuid() != 0 || uid == 0) return read_tail(path, bytes);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failure_from_errno("pipe", errno);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return failure_from_errno("fork", errno);
  if (child == 0) {
    int32_t error = become_user(uid, gid) ? 0 : EPERM;
    std::string text;
    if (error == 0) {
      auto read = read_tail(path, bytes);
      error = read ? 0 : read.error().code != 0 ? read.error().code : EIO;
      if (read) text = std::move(*read);
    }
    write_all(writer.get(), &error, sizeof error);
    write_all(writer.get(), text.data(), text.size());
    ::_exit(0);
  }
  writer.reset();
  std::string answer;
  char buffer[16384];
  for (ssize_t got; (got = ::read(reader.get(), buffer, sizeof buffer)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    answer.append(buffer, static_cast<size_t>(got));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  int32_t error = EIO;
  if (answer.size() >= sizeof error)
    std::copy_n(answer.data(), sizeof error, reinterpret_cast<char*>(&error));
  if (error != 0) return failure_from_errno(path, error);
  return answer.substr(sizeof error);
}

}  // namespace minke::os
