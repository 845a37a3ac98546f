#include "storage/snapshot_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "os/fd.h"
#include "storage/copy_file.h"
#include "storage/linked_names.h"
#include "storage/tree_walk.h"

namespace minke::storage {

namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr char kMark[] = "trusted.minke.snapshot";

bool is_snapshot_directory(const Directory& directory) {
  return directory.depth() == 1 && directory.name() == kSnapshotDirectory;
}

bool same_file(const struct statx& a, const struct statx& b) {
  return a.stx_mode == b.stx_mode && a.stx_size == b.stx_size && a.stx_uid == b.stx_uid &&
         a.stx_gid == b.stx_gid && same_time(a.stx_mtime, b.stx_mtime);
}

// Walks one tree beside another, and links what is the same.
class Linker : public Visitor {
 public:
  Linker(int before, int after, const struct stat& without, unsigned threads, const Reserve& keep_free,
         Failures& failures)
      : before_(before),
        after_(after),
        without_(without),
        room_(after, keep_free),
        buffers_(threads),
        failures_(failures) {}

  const std::atomic<bool>* stop() const { return &stop_; }
  const Status& result() const { return result_; }

  bool enter(unsigned, Directory& directory, const struct statx& status) override {
    if (is_snapshot_directory(directory)) return false;
    if (without_.st_ino != 0 && status.stx_ino == without_.st_ino &&
        makedev(status.stx_dev_major, status.stx_dev_minor) == without_.st_dev)
      return false;
    auto both = std::make_unique<Both>();
    both->status = status;
    if (directory.parent() == nullptr) {
      both->after.reset(::dup(after_));
      if (before_ >= 0) both->before.reset(::dup(before_));
    } else {
      const Both& above = both_of(*directory.parent());
      const char* name = directory.name().c_str();
      if (::mkdirat(above.after.get(), name, 0700) != 0) return fail(directory.path());
      both->after.reset(::openat(above.after.get(), name, kDirectoryFlags));
      if (above.before) both->before.reset(::openat(above.before.get(), name, kDirectoryFlags));
    }
    if (!both->after) return fail(directory.path());
    if (::geteuid() == 0 && !mark_snapshot(both->after.get(), "")) return fail(directory.path());
    directory.note = std::move(both);
    return true;
  }

  void visit(unsigned worker, Directory& in, const char* name, const struct statx& status) override {
    if (!S_ISREG(status.stx_mode) || status.stx_nlink < 2) {
      (void)take(worker, in, name, status);
      return;
    }
    const LinkedNames::File file{makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino};
    const std::string copy = names_.meet(file, status.stx_nlink);
    if (copy.empty()) {
      names_.made(file, take(worker, in, name, status) ? below_top(in, name) : "");
    } else if (::linkat(after_, copy.c_str(), both_of(in).after.get(), name, 0) != 0) {
      (void)take(worker, in, name, status);  // too many names, or too long a path
    }
  }

  void leave(unsigned, Directory& directory) override {
    const Both& both = both_of(directory);
    report(directory.path(), copy_attributes(directory.fd(), both.after.get()));
    const Status set = set_metadata(both.after.get(), both.status, kept(), nullptr);
    if (!set) failures_.add(directory.path(), set.error().message);
  }

  void failed(unsigned, const std::string& path, int error_number) override {
    failures_.add(path, error_number);
  }

 private:
  struct Both : Directory::Note {
    os::UniqueFd before, after;  // before: none if the last snapshot lacks this directory
    struct statx status {};
  };
  static const Both& both_of(const Directory& directory) { return static_cast<const Both&>(*directory.note); }
  static Ownership kept() { return {.owner = ::geteuid() == 0, .group = true}; }

  bool fail(const std::string& path) {
    failures_.add(path, errno);
    return false;
  }

  static std::string below_top(const Directory& in, const char* name) {
    std::string path = name;
    for (const Directory* at = &in; at->parent() != nullptr; at = at->parent())
      path = at->name() + "/" + path;
    return path;
  }

  // Half a snapshot is none: the first shortage ends the walk.
  void give_up(Status why) {
    const std::lock_guard lock(mutex_);
    if (result_) result_ = std::move(why);
    stop_ = true;
  }

  // Links or copies one entry. Returns whether it is there.
  bool take(unsigned worker, Directory& in, const char* name, const struct statx& status) {
    const Both& both = both_of(in);
    struct statx before {};
    if (both.before && S_ISREG(status.stx_mode) &&
        ::statx(both.before.get(), name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &before) == 0 &&
        same_file(status, before) && ::linkat(both.before.get(), name, both.after.get(), name, 0) == 0)
      return true;
    errno = 0;
    if (copy(worker, in, name, status, both.after.get())) return true;
    if (errno == ENOSPC || errno == EDQUOT) {
      give_up(failure_from_errno(in.path_of(name), errno));
    } else if (errno != ENOENT) {
      failures_.add(in.path_of(name), errno);
    }
    return false;
  }

  void report(const std::string& path, const std::vector<AttributeFailure>& failures) {
    for (const AttributeFailure& failure : failures)
      failures_.add(path, failure.error_number, failure.name.c_str());
  }
  void report(Directory& in, const char* name, const std::vector<AttributeFailure>& failures) {
    if (!failures.empty()) report(in.path_of(name), failures);
  }

  // Returns false and sets errno on failure.
  bool copy(unsigned worker, Directory& in, const char* name, const struct statx& status, int to) {
    if (S_ISLNK(status.stx_mode)) {
      char target[PATH_MAX];
      const ssize_t length = ::readlinkat(in.fd(), name, target, sizeof target - 1);
      if (length < 0) return false;
      target[length] = '\0';
      if (::symlinkat(target, to, name) != 0) return false;
      if (::geteuid() == 0) (void)::fchownat(to, name, status.stx_uid, status.stx_gid, AT_SYMLINK_NOFOLLOW);
      const timespec times[2] = {to_timespec(status.stx_atime), to_timespec(status.stx_mtime)};
      (void)::utimensat(to, name, times, AT_SYMLINK_NOFOLLOW);
      return true;
    }
    if (!S_ISREG(status.stx_mode)) return true;  // pipes, sockets and devices have no content
    const os::UniqueFd from(::openat(in.fd(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct statx now {};
    if (!from || ::statx(from.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, &now) != 0) return false;
    if (!S_ISREG(now.stx_mode)) return true;
    const os::UniqueFd made(::openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made) return false;
    std::vector<char>& buffer = buffers_[worker];
    buffer.resize(kCopyBuffer);
    const bool sparse = now.stx_blocks * 512 < now.stx_size;
    const bool shared = clone_content(from.get(), made.get(), now.stx_size);
    Status copied = room_.check(shared ? 0 : std::min<uint64_t>(now.stx_size, now.stx_blocks * 512));
    if (!copied) give_up(copied);
    if (copied && !shared)
      copied = copy_content(from.get(), made.get(), now.stx_size, sparse, 1, buffer, bytes_);
    if (copied) {
      report(in, name, copy_attributes(from.get(), made.get()));
      copied = set_metadata(made.get(), now, kept(), nullptr);
    }
    if (copied) return true;
    (void)::unlinkat(to, name, 0);
    errno = copied.error().code != 0 ? copied.error().code : EIO;
    return false;
  }

  int before_, after_;
  struct stat without_;
  FreeSpace room_;
  LinkedNames names_;
  std::mutex mutex_;  // guards the result
  Status result_;
  std::atomic<bool> stop_{false};
  std::vector<std::vector<char>> buffers_;
  std::atomic<uint64_t> bytes_{0};
  Failures& failures_;
};

}  // namespace

Status mark_snapshot(int directory, const std::string& value) {
  if (::fsetxattr(directory, kMark, value.data(), value.size(), 0) == 0) return {};
  return failure_from_errno(
      "the file system keeps no marks of root's (trusted attributes), which snapshots need", errno);
}

std::optional<std::string> snapshot_mark(int directory) {
  char value[32];
  const ssize_t length = ::fgetxattr(directory, kMark, value, sizeof value);
  if (length < 0) return std::nullopt;
  return std::string(value, static_cast<size_t>(length));
}

Status copy_for_snapshot(int root, const std::string& path, int before, int after,
                         const SnapshotOptions& options, Failures& failures) {
  struct stat left_out {};
  if (!options.without.empty() && ::stat(options.without.c_str(), &left_out) != 0) left_out.st_ino = 0;
  const WalkOptions walk{.one_file_system = true};
  Linker linker(before, after, left_out, walk_threads(walk), options.keep_free, failures);
  if (Status walked = walk_tree(root, path, walk, linker, linker.stop()); !walked) return walked;
  return linker.result();
}

}  // namespace minke::storage
