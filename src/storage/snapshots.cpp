#include "storage/snapshots.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <set>

#include "os/beneath.h"
#include "os/fd.h"
#include "storage/remove_tree.h"
#include "storage/snapshot_tree.h"
#include "storage/tree_walk.h"

namespace minke::storage {

namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr char kMaking[] = ".making", kRemoving[] = ".removing";
constexpr uint64_t kSubvolumeInode = 256;  // of each subvolume's root

bool is_roots() {
  return ::geteuid() == 0;
}

class SnapshotGuard : public RemovalGuard {
 public:
  explicit SnapshotGuard(int64_t complete) : complete_(complete) {}
  bool may_empty(int directory) const override { return snapshot_mark(directory).has_value(); }
  bool may_unlink(const struct statx& status) const override {
    return (status.stx_mask & STATX_BTIME) == 0 || status.stx_btime.tv_sec <= complete_;
  }

 private:
  int64_t complete_;
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
  const auto made = snapshot_mark(top.get());
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

// What was copied so far is of no use: its space is given back at once.
Status given_up(int snapshots, Status why) {
  Failures ignored;
  (void)remove_named(snapshots, kMaking, ignored);
  return why;
}

Status make_by_links(const os::UniqueFd& root, const std::string& path, int snapshots,
                     const std::string& name, const SnapshotOptions& options, Failures& failures) {
  Failures ignored;
  (void)remove_named(snapshots, kMaking, ignored);
  if (::mkdirat(snapshots, kMaking, 0700) != 0) return failure_from_errno(path, errno);
  const os::UniqueFd after = open_directory(snapshots, kMaking);
  if (!after) return failure_from_errno(path, errno);
  if (is_roots())
    if (Status marked = mark_snapshot(after.get(), ""); !marked) return marked;
  const std::vector<int64_t> earlier = list_snapshots(path);
  os::UniqueFd before;
  if (!earlier.empty()) before = open_directory(snapshots, snapshot_name(earlier.front()).c_str());
  if (Status copied = copy_for_snapshot(root.get(), path, before.get(), after.get(), options, failures);
      !copied)
    return given_up(snapshots, std::move(copied));
  if (is_roots())
    if (Status marked = mark_snapshot(after.get(), std::to_string(std::time(nullptr) + 1)); !marked)
      return marked;
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

Status make_snapshot(const std::string& directory, int64_t time, const SnapshotOptions& options,
                     Failures& failures) {
  const os::UniqueFd root = open_directory(AT_FDCWD, directory.c_str());
  if (!root) return failure_from_errno(directory, errno);
  const auto snapshots = open_snapshots(root.get(), directory);
  if (!snapshots) return failure(snapshots.error());
  const std::string name = snapshot_name(time);
  if (::faccessat(snapshots->get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
    return failure(directory + ": there is one of this second", EEXIST);
  if (Status room = FreeSpace(root.get(), options.keep_free).check(0); !room) return room;
  if (!is_subvolume(root.get()))
    return make_by_links(root, directory, snapshots->get(), name, options, failures);
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
