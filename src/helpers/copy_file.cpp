#include "helpers/copy_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "os/fd.h"

namespace minke::helpers {

Status copy_file(const std::string& from, const std::string& to, const CopyOptions& options) {
  const os::UniqueFd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!source || ::fstat(source.get(), &status) != 0) return failure_from_errno(from, errno);
  if (!S_ISREG(status.st_mode)) return failure(from + ": not a regular file", EINVAL);
  if (options.replace && ::unlink(to.c_str()) != 0 && errno != ENOENT) return failure_from_errno(to, errno);
  const os::UniqueFd target(
      ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0777));
  if (!target) return failure_from_errno(to, errno);
  std::vector<char> buffer(1 << 20);
  for (;;) {
    const ssize_t got = ::read(source.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure_from_errno(from, errno);
    if (got == 0) break;
    for (ssize_t done = 0; done < got;) {
      const ssize_t written = ::write(target.get(), buffer.data() + done, static_cast<size_t>(got - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        const int error = errno;
        ::unlink(to.c_str());
        return failure_from_errno(to, error);
      }
      done += written;
    }
  }
  if (options.preserve) {
    const timespec times[] = {status.st_atim, status.st_mtim};
    if (::fchmod(target.get(), status.st_mode & 07777) != 0 || ::futimens(target.get(), times) != 0)
      return failure_from_errno(to, errno);
  }
  return {};
}

namespace {

Status copy_link(const std::string& from, const std::string& to, const CopyOptions& options) {
  std::error_code problem;
  const std::string leads_to = std::filesystem::read_symlink(from, problem).string();
  if (problem) return failure_from_errno(from, problem.value());
  if (options.replace && ::unlink(to.c_str()) != 0 && errno != ENOENT) return failure_from_errno(to, errno);
  return ::symlink(leads_to.c_str(), to.c_str()) == 0 ? Status() : failure_from_errno(to, errno);
}

}  // namespace

Status copy_tree(const std::string& from, const std::string& to, const CopyOptions& options) {
  struct stat status {};
  if (::lstat(from.c_str(), &status) != 0) return failure_from_errno(from, errno);
  if (S_ISLNK(status.st_mode)) return copy_link(from, to, options);
  if (S_ISREG(status.st_mode)) return copy_file(from, to, options);
  if (!S_ISDIR(status.st_mode)) return {};
  // Lists them before the copy is made, which may lie within.
  std::vector<std::string> names;
  std::error_code problem;
  for (std::filesystem::directory_iterator next(from, problem), end; !problem && next != end;
       next.increment(problem))
    names.push_back(next->path().filename().string());
  if (problem) return failure_from_errno(from, problem.value());
  if (::mkdir(to.c_str(), 0700) != 0 && errno != EEXIST) return failure_from_errno(to, errno);
  for (const std::string& name : names) {
    if (Status copied = copy_tree(from + "/" + name, to + "/" + name, options); !copied) return copied;
  }
  const timespec times[] = {status.st_atim, status.st_mtim};
  if (::chmod(to.c_str(), status.st_mode & 07777) != 0) return failure_from_errno(to, errno);
  if (options.preserve && ::utimensat(AT_FDCWD, to.c_str(), times, 0) != 0)
    return failure_from_errno(to, errno);
  return {};
}

std::string find_program(const std::string& name, const std::string& directory) {
  if (name.starts_with('/')) return name;
  if (name.find('/') != std::string::npos) return directory + "/" + name;
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/bin:/usr/bin" : path;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    const std::string candidate = std::string(entry.empty() ? "." : entry) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return name;
}

}  // namespace minke::helpers
