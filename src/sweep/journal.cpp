#include "sweep/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "os/files.h"

namespace minke::sweep {

namespace {

constexpr size_t kMaxBytes = size_t{1} << 30;

}  // namespace

Result<Journal> Journal::open(const std::string& path) {
  Journal journal;
  journal.path_ = path;
  journal.file_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!journal.file_) return failure_from_errno(path, errno);
  const auto content = os::read_file(path, kMaxBytes);
  if (!content) return failure(path + ": " + content.error().message, content.error().code);
  const size_t whole = content->rfind('\n') == std::string::npos ? 0 : content->rfind('\n') + 1;
  if (whole < content->size() && ::ftruncate(journal.file_.get(), static_cast<off_t>(whole)) != 0)
    return failure_from_errno(path, errno);
  journal.end_ = static_cast<int64_t>(whole);
  return journal;
}

Status Journal::append(const std::string& line) {
  const std::string bytes = line + "\n";
  size_t done = 0;
  int problem = 0;
  while (done < bytes.size() && problem == 0) {
    const ssize_t wrote =
        ::pwrite(file_.get(), bytes.data() + done, bytes.size() - done, end_ + static_cast<off_t>(done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) problem = wrote < 0 ? errno : EIO;
    if (wrote > 0) done += static_cast<size_t>(wrote);
  }
  if (problem == 0 && ::fdatasync(file_.get()) != 0) problem = errno;
  if (problem != 0) {
    if (::ftruncate(file_.get(), end_) != 0) return failure_from_errno(path_, errno);
    return failure_from_errno(path_, problem);
  }
  end_ += static_cast<int64_t>(bytes.size());
  return {};
}

Result<std::vector<std::string>> Journal::read(const std::string& path) {
  const auto content = os::read_file(path, kMaxBytes);
  if (!content && content.error().code == ENOENT) return std::vector<std::string>{};
  if (!content) return failure(path + ": " + content.error().message, content.error().code);
  std::vector<std::string> lines;
  for (size_t at = 0, end; (end = content->find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(content->substr(at, end - at));
  return lines;
}

}  // namespace minke::sweep
