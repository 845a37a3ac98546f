#include "storage/snapshots.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <set>

#include "os/beneath.h"
#include "os/fd.h"
#include "storage/copy_file.h"
#include "storage/remove_tree.h"
#include "storage/tree_walk.h"

namespace minke::storage {

namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr char kMaking[] = ".making", kRemoving[] = ".removing";
constexpr uint64_t kSubvolumeInode = 256;  // of each subvolume's root

// Root's snapshots lie in directories of users, who may move entries of others into them that they could not
// remove themselves. So root marks each directory that it makes, which nobody else can, and removes only what
// is in marked ones, and was there when the snapshot was complete.
constexpr char kMark[] = "trusted.minke.snapshot";  // of the top one: when it was complete (s)

bool is_roots() {
  return ::geteuid() == 0;
}

Status mark(int directory, const std::string& value) {
  if (::fsetxattr(directory, kMark, value.data(), value.size(), 0) == 0) return {};
  return failure_from_errno(
      "the file system keeps no marks of root's (trusted attributes), which snapshots need", errno);
}

std::optional<std::string> mark_of(int directory) {
  char value[32];
  const ssize_t length = ::fgetxattr(directory, kMark, value, sizeof value);
  if (length < 0) return std::nullopt;
  return std::string(value, static_cast<size_t>(length));
}

class SnapshotGuard : public RemovalGuard {
 public:
  explicit SnapshotGuard(int64_t complete) : complete_(complete) {}
  bool may_empty(int directory) const override { return mark_of(directory).has_value(); }
  bool may_unlink(const struct statx& status) const override {
    return (status.stx_mask & STATX_BTIME) == 0 || status.stx_btime.tv_sec <= complete_;
  }

 private:
  int64_t complete_;
};

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
  Linker(int before, int after, const struct stat& without, unsigned threads, Failures& failures)
      : before_(before), after_(after), without_(without), buffers_(threads), failures_(failures) {}

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
    if (is_roots() && !mark(both->after.get(), "")) return fail(directory.path());
    directory.note = std::move(both);
    return true;
  }

  void visit(unsigned worker, Directory& in, const char* name, const struct statx& status) override {
    const Both& both = both_of(in);
    struct statx before {};
    if (both.before && S_ISREG(status.stx_mode) &&
        ::statx(both.before.get(), name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &before) == 0 &&
        same_file(status, before) && ::linkat(both.before.get(), name, both.after.get(), name, 0) == 0)
      return;
    errno = 0;
    if (!copy(worker, in, name, status, both.after.get()) && errno != ENOENT)
      failures_.add(in.path_of(name), errno);
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
    Status copied = copy_content(from.get(), made.get(), now.stx_size, sparse, 1, buffer, bytes_);
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
  std::vector<std::vector<char>> buffers_;
  std::atomic<uint64_t> bytes_{0};
  Failures& failures_;
};

os::UniqueFd open_directory(int at, const char* name) {
  return os::UniqueFd(::openat(at, name, kDirectoryFlags));
}

// Opens the one name that users may have replaced: not a link, and for root nobody else's.
Result<os::UniqueFd> open_snapshots_of(int directory, const std::string& path) {
  const std::string shown = path + "/" + kSnapshotDirectory;
  auto snapshots = os::open_beneath(directory, kSnapshotDirectory, O_RDONLY | O_DIRECTORY);
  if (!snapshots)
    return failure(shown + ": " + std::strerror(snapshots.error().code), snapshots.error().code);
  if (is_roots())
    if (const Status own = os::check_roots_directory(snapshots->get(), shown); !own)
      return failure(own.error());
  return snapshots;
}

// Opens the directory of snapshots, and makes it if missing: only users that the directory's own mode admits
// may pass through it.
Result<os::UniqueFd> open_snapshots(int directory, const std::string& path) {
  if (::mkdirat(directory, kSnapshotDirectory, 0755) != 0 && errno != EEXIST)
    return failure_from_errno(path + "/" + kSnapshotDirectory, errno);
  return open_snapshots_of(directory, path);
}

Status remove_named(int snapshots, const std::string& name, Failures& failures) {
  {
    const os::UniqueFd one = open_directory(snapshots, name.c_str());
    if (!one) return failure_from_errno(name, errno);
    if (is_subvolume(one.get())) {
      btrfs_ioctl_vol_args arguments{};
      std::snprintf(arguments.name, sizeof arguments.name, "%s", name.c_str());
      if (::ioctl(snapshots, BTRFS_IOC_SNAP_DESTROY, &arguments) != 0) return failure_from_errno(name, errno);
      return {};
    }
  }
  if (!is_roots()) return remove_tree(snapshots, name, failures);
  const os::UniqueFd top = open_directory(snapshots, name.c_str());
  const auto made = mark_of(top.get());
  // An unfinished snapshot is of the past, too.
  const int64_t complete =
      made && !made->empty() ? std::strtoll(made->c_str(), nullptr, 10) : std::time(nullptr);
  const SnapshotGuard guard(complete);
  Status removed = remove_tree(snapshots, name, failures, &guard);
  if (removed) return {};
  // What is not part of the snapshot stays, out of the way of the next ones, for its owner to move.
  const std::string left = "left-" + std::to_string(std::time(nullptr)) + "-" + name.substr(1);
  if (::renameat(snapshots, name.c_str(), snapshots, left.c_str()) == 0)
    return failure("not all of a snapshot could be removed: the rest is in " +
                       std::string(kSnapshotDirectory) + "/" + left,
                   EPERM);
  return removed;
}

Status make_by_links(const os::UniqueFd& root, const std::string& path, int snapshots,
                     const std::string& name, const std::string& without, Failures& failures) {
  Failures ignored;
  (void)remove_named(snapshots, kMaking, ignored);
  if (::mkdirat(snapshots, kMaking, 0700) != 0) return failure_from_errno(path, errno);
  const os::UniqueFd after = open_directory(snapshots, kMaking);
  if (!after) return failure_from_errno(path, errno);
  if (is_roots())
    if (Status marked = mark(after.get(), ""); !marked) return marked;
  const std::vector<int64_t> earlier = list_snapshots(path);
  os::UniqueFd before;
  if (!earlier.empty()) before = open_directory(snapshots, snapshot_name(earlier.front()).c_str());
  struct stat left_out {};
  if (!without.empty() && ::stat(without.c_str(), &left_out) != 0) left_out.st_ino = 0;
  const WalkOptions walk{.one_file_system = true};
  Linker linker(before.get(), after.get(), left_out, walk_threads(walk), failures);
  if (Status walked = walk_tree(root.get(), path, walk, linker); !walked) return walked;
  if (is_roots())
    if (Status marked = mark(after.get(), std::to_string(std::time(nullptr) + 1)); !marked) return marked;
  if (::syncfs(after.get()) != 0) return failure_from_errno(path, errno);
  if (::renameat(snapshots, kMaking, snapshots, name.c_str()) != 0) return failure_from_errno(path, errno);
  (void)::fsync(snapshots);
  return {};
}

}  // namespace

std::string snapshot_name(int64_t time) {
  const auto wall = static_cast<time_t>(time);
  std::tm utc{};
  ::gmtime_r(&wall, &utc);
  char name[64];
  std::strftime(name, sizeof name, "@GMT-%Y.%m.%d-%H.%M.%S", &utc);
  return name;
}

std::optional<int64_t> snapshot_time(std::string_view name) {
  const std::string copy(name);
  std::tm utc{};
  const char* end = ::strptime(copy.c_str(), "@GMT-%Y.%m.%d-%H.%M.%S", &utc);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return ::timegm(&utc);
}

bool is_subvolume(int directory) {
  struct statfs system {};
  struct stat status {};
  return ::fstatfs(directory, &system) == 0 && system.f_type == BTRFS_SUPER_MAGIC &&
         ::fstat(directory, &status) == 0 && status.st_ino == kSubvolumeInode;
}

std::vector<int64_t> list_snapshots(const std::string& directory) {
  std::vector<int64_t> times;
  const os::UniqueFd above(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  auto snapshots = os::open_beneath(above.get(), kSnapshotDirectory, O_RDONLY | O_DIRECTORY);
  DIR* open = above && snapshots ? ::fdopendir(snapshots->get()) : nullptr;
  if (open == nullptr) return times;
  (void)snapshots->release();
  while (const dirent* entry = ::readdir(open)) {
    if (const auto time = snapshot_time(entry->d_name)) times.push_back(*time);
  }
  ::closedir(open);
  std::sort(times.rbegin(), times.rend());
  return times;
}

std::vector<int64_t> expired_snapshots(std::vector<int64_t> times, const std::vector<SnapshotRule>& rules,
                                       int64_t now) {
  std::sort(times.begin(), times.end());
  std::set<int64_t> kept;
  if (!times.empty()) kept.insert(times.back());
  for (const SnapshotRule& rule : rules) {
    std::set<int64_t> periods;
    const int64_t first = now / rule.seconds - rule.keep + 1;
    for (const int64_t time : times) {
      const int64_t period = time / rule.seconds;
      if (period >= first && periods.insert(period).second) kept.insert(time);
    }
  }
  std::erase_if(times, [&](int64_t time) { return kept.contains(time); });
  return times;
}

int64_t next_snapshot(const std::vector<int64_t>& times, const std::vector<SnapshotRule>& rules,
                      int64_t now) {
  uint32_t shortest = rules.front().seconds;
  for (const SnapshotRule& rule : rules) shortest = std::min(shortest, rule.seconds);
  if (times.empty()) return now;
  const int64_t latest = *std::max_element(times.begin(), times.end());
  return std::max(now, (latest / shortest + 1) * shortest);
}

Status make_snapshot(const std::string& directory, int64_t time, const std::string& without,
                     Failures& failures) {
  const os::UniqueFd root = open_directory(AT_FDCWD, directory.c_str());
  if (!root) return failure_from_errno(directory, errno);
  const auto snapshots = open_snapshots(root.get(), directory);
  if (!snapshots) return failure(snapshots.error());
  const std::string name = snapshot_name(time);
  if (::faccessat(snapshots->get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
    return failure(directory + ": there is one of this second", EEXIST);
  if (!is_subvolume(root.get()))
    return make_by_links(root, directory, snapshots->get(), name, without, failures);
  btrfs_ioctl_vol_args_v2 arguments{};
  arguments.fd = root.get();
  arguments.flags = BTRFS_SUBVOL_RDONLY;
  std::snprintf(arguments.name, sizeof arguments.name, "%s", name.c_str());
  if (::ioctl(snapshots->get(), BTRFS_IOC_SNAP_CREATE_V2, &arguments) != 0)
    return failure_from_errno(directory, errno);
  return {};
}

Status remove_snapshot(const std::string& directory, int64_t time, Failures& failures) {
  const os::UniqueFd root = open_directory(AT_FDCWD, directory.c_str());
  if (!root) return failure_from_errno(directory, errno);
  const auto opened = open_snapshots_of(root.get(), directory);
  if (!opened) return failure(opened.error());
  const os::UniqueFd& snapshots = *opened;
  // Half a snapshot does not count as one.
  const std::string name = snapshot_name(time);
  const os::UniqueFd one = open_directory(snapshots.get(), name.c_str());
  if (!one) return failure_from_errno(name, errno);
  if (is_subvolume(one.get())) return remove_named(snapshots.get(), name, failures);
  Failures ignored;
  (void)remove_named(snapshots.get(), kRemoving, ignored);  // left by a killed removal
  if (::renameat(snapshots.get(), name.c_str(), snapshots.get(), kRemoving) != 0)
    return failure_from_errno(name, errno);
  return remove_named(snapshots.get(), kRemoving, failures);
}

std::vector<Version> versions_of(const std::string& path) {
  std::vector<Version> versions;
  // Finds the nearest directory above that has snapshots.
  for (size_t slash = path.rfind('/'); slash != std::string::npos && slash != 0;
       slash = path.rfind('/', slash - 1)) {
    const std::string above = path.substr(0, slash);
    std::vector<int64_t> times = list_snapshots(above);
    if (times.empty()) continue;
    std::reverse(times.begin(), times.end());
    struct stat last {};
    bool was_there = false;
    for (const int64_t time : times) {
      Version version{.snapshot = time, .path = above + "/" + kSnapshotDirectory + "/" + snapshot_name(time)};
      version.path += path.substr(slash);
      struct stat status {};
      if (::lstat(version.path.c_str(), &status) != 0) {
        was_there = false;
        continue;
      }
      const bool same = was_there && status.st_size == last.st_size &&
                        status.st_mtim.tv_sec == last.st_mtim.tv_sec &&
                        status.st_mtim.tv_nsec == last.st_mtim.tv_nsec && status.st_mode == last.st_mode;
      last = status;
      was_there = true;
      if (same && !S_ISDIR(status.st_mode)) continue;
      version.size = static_cast<uint64_t>(status.st_size);
      version.changed = status.st_mtim.tv_sec;
      version.directory = S_ISDIR(status.st_mode);
      versions.push_back(std::move(version));
    }
    break;
  }
  std::reverse(versions.begin(), versions.end());
  return versions;
}

}  // namespace minke::storage
