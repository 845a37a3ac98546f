#include "node/tmp_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "node/tmp_image.h"
#include "os/capture.h"
#include "os/fd.h"
#include "os/user_child.h"

namespace minke::node {
namespace {

// Deeper directories are moved to the top first, so that neither descriptors nor the stack run out.
constexpr int kDeepest = 64;
constexpr int kMostTries = 3;
constexpr std::chrono::hours kEmptying{1};  // for each try

struct Removal {
  int top = -1;
  dev_t device = 0;    // file systems mounted by the owner are not emptied
  unsigned moved = 0;  // in total: names are never reused
  unsigned moved_before = 0;
  int first_error = 0;
};

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

Directory open_directory(int parent, const char* name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int fd = ::openat(parent, name, kFlags);
  if (fd < 0 && errno == EACCES) {
    // chmod would follow a symbolic link put there meanwhile; AT_SYMLINK_NOFOLLOW makes it fail.
    ::fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW);
    fd = ::openat(parent, name, kFlags);
  }
  if (fd < 0) return {nullptr, ::closedir};
  ::fchmod(fd, 0700);  // needed to unlink in it
  DIR* directory = ::fdopendir(fd);
  if (directory == nullptr) ::close(fd);
  return {directory, ::closedir};
}

void empty_directory(Removal& removal, DIR* directory, int depth);

void remove_entry(Removal& removal, int parent, const char* name, int depth) {
  auto note_error = [&] {
    if (errno != ENOENT && removal.first_error == 0) removal.first_error = errno;
  };
  if (::unlinkat(parent, name, 0) == 0) return;
  if (errno != EISDIR && errno != EPERM) return note_error();
  if (::unlinkat(parent, name, AT_REMOVEDIR) == 0) return;
  if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES) return note_error();
  if (depth >= kDeepest) {
    std::string up = ".minke-remove-" + std::to_string(removal.moved++);
    if (::renameat(parent, name, removal.top, up.c_str()) != 0) note_error();
    return;
  }
  if (Directory directory = open_directory(parent, name)) {
    struct stat info {};
    if (::fstat(::dirfd(directory.get()), &info) != 0 || info.st_dev != removal.device) {
      errno = EXDEV;
      return note_error();
    }
    empty_directory(removal, directory.get(), depth + 1);
  } else {
    return note_error();
  }
  if (::unlinkat(parent, name, AT_REMOVEDIR) != 0) note_error();
}

void empty_directory(Removal& removal, DIR* directory, int depth) {
  while (dirent* entry = ::readdir(directory)) {
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    remove_entry(removal, ::dirfd(directory), entry->d_name, depth);
  }
}

// Unmounts what this user mounted in the directory: data images whose processes have ended with the job.
void unmount_below(const std::string& path) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) == nullptr) return;
  const std::string below = std::string(resolved) + "/";
  std::vector<std::string> places;
  const std::unique_ptr<FILE, int (*)(FILE*)> mounts(::setmntent("/proc/self/mounts", "re"), ::endmntent);
  while (const mntent* mount = mounts ? ::getmntent(mounts.get()) : nullptr) {
    std::string place = mount->mnt_dir;
    if (place.starts_with(below)) places.push_back(std::move(place));
  }
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    if (::umount2(place->c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) continue;
    for (const char* const program : {"/usr/bin/fusermount3", "/usr/bin/fusermount"})
      if (const auto done = os::run_captured({program, "-u", "-z", *place}); done && done->exit_code == 0)
        break;
  }
}

// Empties it in a child with the owner's rights, while this process stays root. Files that the owner could
// not remove are not removed for them. The parent directory is root's, so root removes the directory itself.
// The owner may stop the child; a later launcher then removes what is left.
void empty_as_owner(const std::string& path, const os::Rights& owner) {
  for (int tries = 0; tries < kMostTries; ++tries) {
    const auto emptied = os::run_in_child(owner, {.time = kEmptying}, [&](int) {
      [[maybe_unused]] const Status removed = remove_tmp_dir(path);
      return 0;
    });
    if (emptied) return;
  }
}

}  // namespace

Status make_tmp_dir(const std::string& path, std::optional<Owner> owner) {
  const uid_t uid = owner ? owner->uid : ::geteuid();
  if (::mkdir(path.c_str(), 0700) == 0) {
    // The directory above is root's: nobody else can replace the new one meanwhile.
    if (!owner || ::lchown(path.c_str(), owner->uid, owner->gid) == 0) return {};
    const int error = errno;
    ::rmdir(path.c_str());
    return failure_from_errno("cannot hand over the temporary directory " + path, error);
  }
  int error = errno;
  struct stat info {};
  if (error == EEXIST && ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == uid) {
    return {};
  }
  return failure_from_errno("cannot make the temporary directory " + path, error);
}

Status make_memory_dir(const std::string& path) {
  if (auto made = make_tmp_dir(path); !made) return made;
  struct statfs info {};
  if (::statfs(path.c_str(), &info) == 0 && info.f_type == TMPFS_MAGIC) return {};
  if (::mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711") != 0)
    return failure_from_errno("cannot mount a file system in memory at " + path, errno);
  return {};
}

bool remove_empty_tmp_dir(const std::string& path) {
  return ::rmdir(path.c_str()) == 0 || errno == ENOENT;
}

Status remove_tmp_dir(const std::string& path) {
  Removal removal;
  for (bool first = true;; first = false) {
    if (remove_empty_tmp_dir(path)) return {};
    int error = errno;
    // Repeats as long as directories were moved up.
    if (error == ENOTDIR || (!first && removal.moved == removal.moved_before)) {
      return failure_from_errno(path, removal.first_error != 0 ? removal.first_error : error);
    }
    removal.moved_before = removal.moved;
    removal.first_error = 0;
    Directory directory = open_directory(AT_FDCWD, path.c_str());
    if (!directory) return failure_from_errno(path, errno);
    removal.top = ::dirfd(directory.get());
    struct stat info {};
    if (::fstat(removal.top, &info) != 0) return failure_from_errno(path, errno);
    removal.device = info.st_dev;
    empty_directory(removal, directory.get(), 0);
  }
}

pid_t fork_tmp_dir_removal(const std::string& path, bool outlives) {
  pid_t parent = ::getpid();
  // A SIGTERM for the launcher's group must not end the child, nor may the child keep the launcher's lock.
  pid_t pid = ::fork();
  if (pid < 0) return -errno;
  if (pid > 0) return pid;
  if (!outlives) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
  }
  ::setsid();
  ::close_range(3, ~0U, 0);
  if (has_tmp_image(path)) {
    const Status removed = remove_tmp_image(path);
    if (!removed) std::fprintf(stderr, "launcher: cannot remove %s\n", removed.error().message.c_str());
    ::_exit(removed ? 0 : 1);
  }
  struct stat info {};
  const bool there = ::lstat(path.c_str(), &info) == 0;
  if (there && info.st_uid == ::geteuid()) unmount_below(path);
  if (::geteuid() == 0 && there && info.st_uid != 0) {
    empty_as_owner(path, {info.st_uid, info.st_gid, {}});
    ::_exit(0);
  }
  auto status = remove_tmp_dir(path);
  if (!status) std::fprintf(stderr, "launcher: cannot remove %s\n", status.error().message.c_str());
  ::_exit(status ? 0 : 1);
}

namespace {

// Names of jobs' directories and of what lies beside them.
std::vector<std::string> names_of_jobs(const std::string& parent) {
  std::error_code ignored;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator entry(parent, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    std::string name = entry->path().filename().string();
    if (name.starts_with("job") && name.find_first_of("0123456789") == 3 &&
        entry->symlink_status(ignored).type() == std::filesystem::file_type::directory)
      names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

void set_aside_tmp_dirs(const std::string& parent, const std::string& boot) {
  for (const std::string& name : names_of_jobs(parent)) {
    const std::string path = parent + "/" + name;
    if (has_tmp_image(path)) {
      (void)remove_unmounted_tmp_image(path);
    } else {
      (void)::rename(path.c_str(), (parent + "/" + kSetAside + name + "." + boot).c_str());
    }
  }
}

void remove_unused_tmp_dirs(const std::string& parent, const std::set<uint32_t>& jobs) {
  for (const std::string& name : names_of_jobs(parent)) {
    const unsigned long job = std::strtoul(name.c_str() + 3, nullptr, 10);
    if (!jobs.contains(static_cast<uint32_t>(job))) (void)::rmdir((parent + "/" + name).c_str());
  }
}

}  // namespace minke::node
