#include "os/user_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "os/become.h"
#include "os/fd.h"
#include "os/user_child.h"

namespace minke::os {

namespace {

constexpr std::chrono::seconds kReading{5};

Result<std::string> read_tail(const std::string& path, size_t bytes) {
  // O_NONBLOCK: a pipe that nobody writes to must not block us.
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
  const Rights rights = rights_of(uid, gid);
  return become(rights.uid, rights.gid, rights.groups);
}

Result<std::string> read_tail_as(uid_t uid, gid_t gid, const std::string& path, size_t bytes) {
  if (::geteuid() != 0 || uid == 0) return read_tail(path, bytes);
  const auto read = run_in_child(
      rights_of(uid, gid), {.time = kReading, .bytes = bytes + sizeof(int32_t)}, [&](int answer) {
        const auto text = read_tail(path, bytes);
        const int32_t error = text ? 0 : text.error().code != 0 ? text.error().code : EIO;
        write_all(answer, &error, sizeof error);
        if (text) write_all(answer, text->data(), text->size());
        return 0;
      });
  if (!read) return failure(path + ": " + read.error().message, read.error().code);
  int32_t error = EIO;
  if (read->said.size() >= sizeof error)
    std::copy_n(read->said.data(), sizeof error, reinterpret_cast<char*>(&error));
  if (error != 0) return failure_from_errno(path, error);
  return read->said.substr(sizeof error);
}

}  // namespace minke::os
