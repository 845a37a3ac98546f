#include "storage/copy_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>

namespace minke::storage {

namespace {

constexpr uint64_t kChunk = 32 << 20;  // of a large file, for one thread at a time

Error shorter() {
  return {EIO, "it became shorter while it was read"};
}

// Copies [begin, end) of the file by reading and writing.
Status copy_range(int from, int to, uint64_t begin, uint64_t end, std::vector<char>& buffer,
                  std::atomic<uint64_t>& copied) {
  if (buffer.empty()) buffer.resize(kCopyBuffer);
  while (begin < end) {
    const size_t wanted = std::min<uint64_t>(buffer.size(), end - begin);
    const ssize_t got = ::pread(from, buffer.data(), wanted, static_cast<off_t>(begin));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure_from_errno("reading", errno);
    if (got == 0) return failure(shorter());
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = ::pwrite(to, buffer.data() + done, got - done, static_cast<off_t>(begin) + done);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return failure_from_errno("writing", put == 0 ? ENOSPC : errno);
      done += put;
    }
    begin += got;
    copied.fetch_add(got, std::memory_order_relaxed);
  }
  return {};
}

Status copy_sparse(int from, int to, uint64_t size, std::vector<char>& buffer,
                   std::atomic<uint64_t>& copied) {
  if (::ftruncate(to, static_cast<off_t>(size)) != 0) return failure_from_errno("writing", errno);
  for (uint64_t at = 0; at < size;) {
    const off_t data = ::lseek(from, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // holes up to the end
    if (data < 0) return copy_range(from, to, at, size, buffer, copied);
    const off_t hole = ::lseek(from, data, SEEK_HOLE);
    const uint64_t end = hole < 0 ? size : std::min<uint64_t>(size, static_cast<uint64_t>(hole));
    if (static_cast<uint64_t>(data) >= size) break;
    if (Status done = copy_range(from, to, static_cast<uint64_t>(data), end, buffer, copied); !done)
      return done;
    at = end;
  }
  return {};
}

Status copy_large(int from, int to, uint64_t size, unsigned threads, std::vector<char>& buffer,
                  std::atomic<uint64_t>& copied) {
  // Allocates all of the space at once: few extents, and a full disk shows before the work is done.
  if (::fallocate(to, 0, 0, static_cast<off_t>(size)) != 0 && errno != EOPNOTSUPP && errno != ENOSYS)
    return failure_from_errno("writing", errno);
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  Status result;
  const auto work = [&](std::vector<char>& own) {
    for (;;) {
      const uint64_t begin = next.fetch_add(kChunk);
      if (begin >= size) return;
      if (Status done = copy_range(from, to, begin, std::min(size, begin + kChunk), own, copied); !done) {
        const std::lock_guard lock(mutex);
        result = std::move(done);
        next = size;
        return;
      }
    }
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < threads && i * kChunk < size; ++i) {
    try {
      helpers.emplace_back([&] {
        std::vector<char> own;
        work(own);
      });
    } catch (const std::system_error&) {
      break;
    }
  }
  work(buffer);
  for (std::thread& helper : helpers) helper.join();
  return result;
}

bool is_copied(std::string_view name) {
  if (name.starts_with("user.") || name.starts_with("system.posix_acl_")) return true;
  return ::geteuid() == 0 && (name == "security.capability" ||
                              (name.starts_with("trusted.") && name != "trusted.lov" &&
                               !name.starts_with("trusted.overlay.") && !name.starts_with("trusted.minke.")));
}

// Files of the kernel (such as /proc) report size 0, but have content.
Status copy_unsized(int from, int to, std::vector<char>& buffer, std::atomic<uint64_t>& copied) {
  if (buffer.empty()) buffer.resize(kCopyBuffer);
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure_from_errno("reading", errno);
    if (got == 0) return {};
    for (ssize_t at = 0; at < got;) {
      const ssize_t put = ::write(to, buffer.data() + at, static_cast<size_t>(got - at));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return failure_from_errno("writing", put < 0 ? errno : ENOSPC);
      at += put;
    }
    copied.fetch_add(static_cast<uint64_t>(got), std::memory_order_relaxed);
  }
}

}  // namespace

bool clone_content(int from, int to, uint64_t size) {
  static std::atomic<bool> clones{true};  // until the file system says that it cannot
  if (size < 64 << 10 || !clones.load(std::memory_order_relaxed)) return false;
  if (::ioctl(to, FICLONE, from) == 0) return true;
  if (errno == EOPNOTSUPP || errno == ENOTTY || errno == EXDEV) clones = false;
  return false;
}

Status copy_content(int from, int to, uint64_t size, bool sparse, unsigned threads, std::vector<char>& buffer,
                    std::atomic<uint64_t>& copied) {
  if (size == 0) return copy_unsized(from, to, buffer, copied);
  if (clone_content(from, to, size)) {
    copied.fetch_add(size, std::memory_order_relaxed);
    return {};
  }
  if (sparse) return copy_sparse(from, to, size, buffer, copied);
  if (size >= kLargeFile && threads > 1) return copy_large(from, to, size, threads, buffer, copied);
  return copy_range(from, to, 0, size, buffer, copied);
}

Result<std::vector<std::string>> attribute_names(int file) {
  char small[1024];
  std::string large;
  const char* names = small;
  ssize_t length = ::flistxattr(file, small, sizeof small);
  if (length < 0 && errno == ERANGE) {
    large.resize(64 << 10);  // the kernel's own limit
    names = large.data();
    length = ::flistxattr(file, large.data(), large.size());
  }
  if (length < 0 && errno == EOPNOTSUPP) length = 0;
  if (length < 0) return failure_from_errno("its attributes", errno);
  std::vector<std::string> all;
  for (ssize_t at = 0; at < length; at += static_cast<ssize_t>(all.back().size()) + 1)
    all.emplace_back(names + at);
  return all;
}

std::vector<AttributeFailure> copy_attributes(int from, int to) {
  const auto names = attribute_names(from);
  if (!names) return {{"its attributes", names.error().code}};
  std::vector<AttributeFailure> failures;
  std::string value;
  for (const std::string& name : *names) {
    if (!is_copied(name)) continue;
    value.resize(64 << 10);
    const ssize_t got = ::fgetxattr(from, name.c_str(), value.data(), value.size());
    if (got < 0 && errno == ENODATA) continue;
    if (got < 0 || ::fsetxattr(to, name.c_str(), value.data(), static_cast<size_t>(got), 0) != 0)
      failures.push_back({name, errno});
  }
  return failures;
}

Status set_metadata(int file, const struct statx& status, Ownership keep, const struct statx* current) {
  const uid_t uid = keep.owner ? status.stx_uid : static_cast<uid_t>(-1);
  const gid_t gid = keep.group ? status.stx_gid : static_cast<gid_t>(-1);
  const bool same_owner = current != nullptr && (!keep.owner || current->stx_uid == uid) &&
                          (!keep.group || current->stx_gid == gid);
  if (!same_owner && (keep.owner || keep.group) && ::fchown(file, uid, gid) != 0) {
    // Users other than root may give a file only to their own groups: else it keeps the group of a new file.
    if (errno != EPERM || ::geteuid() == 0) return failure_from_errno("owner", errno);
  }
  const mode_t mode = status.stx_mode & 07777;
  const bool cleared = !same_owner && (mode & 06000) != 0;  // fchown clears them
  if (current == nullptr || cleared || (current->stx_mode & 07777) != mode) {
    if (::fchmod(file, mode) != 0) return failure_from_errno("mode", errno);
  }
  const timespec times[2] = {to_timespec(status.stx_atime), to_timespec(status.stx_mtime)};
  if (::futimens(file, times) != 0) return failure_from_errno("times", errno);
  return {};
}

timespec to_timespec(const struct statx_timestamp& time) {
  return {.tv_sec = time.tv_sec, .tv_nsec = static_cast<long>(time.tv_nsec)};
}

bool same_time(const struct statx_timestamp& a, const struct statx_timestamp& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace minke::storage
