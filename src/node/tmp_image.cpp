#include "node/tmp_image.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "os/fd.h"

namespace minke::node {
namespace {

std::string template_path(const std::string& directory, uint64_t bytes) {
  return directory + "/.image." + std::to_string(bytes);
}
std::string image_path(const std::string& path) {
  return path + ".img";
}
std::string disk_path(const std::string& path) {
  return path + ".disk";
}

// No journal, because nobody needs the contents after a crash. No blocks are reserved for root, and inode
// tables are not written in advance, so that the file stays sparse.
Status make_file_system(const std::string& file, uint64_t bytes) {
  const std::string size = std::to_string(bytes >> 10) + "k";
  const char* const arguments[] = {"mke2fs",
                                   "-q",
                                   "-F",
                                   "-t",
                                   "ext4",
                                   "-m",
                                   "0",
                                   "-O",
                                   "^has_journal,^resize_inode",
                                   "-E",
                                   "lazy_itable_init=1,nodiscard,root_owner=0:0",
                                   file.c_str(),
                                   size.c_str(),
                                   nullptr};
  const char* const environment[] = {"PATH=/usr/sbin:/sbin:/usr/bin:/bin", nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  int error = ENOENT;
  for (const char* program : {"/usr/sbin/mke2fs", "/sbin/mke2fs"}) {
    if (error != ENOENT) break;
    error = ::posix_spawn(&child, program, &actions, nullptr, const_cast<char* const*>(arguments),
                          const_cast<char* const*>(environment));
  }
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failure_from_errno("mke2fs", error);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) return failure("mke2fs could not make a file system of " + size + " in " + file);
  return {};
}

struct LoopDevice {
  std::string path;
  os::UniqueFd open;  // the device is detached when this closes and nothing is mounted
};

Result<LoopDevice> attach_loop_device(const std::string& file) {
  constexpr int kTries = 64;  // another process may take the free one first
  const os::UniqueFd image(::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!image) return failure_from_errno(file, errno);
  const os::UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) return failure_from_errno("/dev/loop-control", errno);
  for (int i = 0; i < kTries; ++i) {
    const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return failure_from_errno("/dev/loop-control", errno);
    const std::string device = "/dev/loop" + std::to_string(number);
    os::UniqueFd loop(::open(device.c_str(), O_RDWR | O_CLOEXEC));
    if (!loop) return failure_from_errno(device, errno);
    loop_config configuration{};
    configuration.fd = static_cast<uint32_t>(image.get());
    configuration.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    if (::ioctl(loop.get(), LOOP_CONFIGURE, &configuration) != 0) {
      if (errno == EBUSY) continue;
      return failure_from_errno(device, errno);
    }
    return LoopDevice{device, std::move(loop)};
  }
  return failure("no loop device is free", EBUSY);
}

Status mount_image(const std::string& file, const std::string& at) {
  const auto device = attach_loop_device(file);
  if (!device) return failure(device.error());
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOATIME;
  if (::mount(device->path.c_str(), at.c_str(), "ext4", kFlags, "noinit_itable") != 0)
    return failure_from_errno("cannot mount " + file, errno);
  return {};
}

// Copies only the data, so that the copy is sparse too.
Status copy_image(const std::string& from, const std::string& to, uint64_t bytes) {
  const os::UniqueFd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!source) return failure_from_errno(from, errno);
  const os::UniqueFd target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!target) return failure_from_errno(to, errno);
  if (::ftruncate(target.get(), static_cast<off_t>(bytes)) != 0) return failure_from_errno(to, errno);
  for (off_t at = 0;;) {
    off_t read = ::lseek(source.get(), at, SEEK_DATA);
    if (read < 0) return errno == ENXIO ? Status() : failure_from_errno(from, errno);  // ENXIO: no more data
    off_t written = read;
    at = ::lseek(source.get(), read, SEEK_HOLE);
    while (read < at) {
      const ssize_t copied =
          ::copy_file_range(source.get(), &read, target.get(), &written, static_cast<size_t>(at - read), 0);
      if (copied < 0) return failure_from_errno(to, errno);
      if (copied == 0) return failure(from + " is shorter than it was", EIO);
    }
  }
}

Status unmount(const std::string& path, int flags) {
  // EINVAL: nothing is mounted there.
  if (::umount2(path.c_str(), flags | UMOUNT_NOFOLLOW) == 0 || errno == EINVAL || errno == ENOENT) return {};
  return failure_from_errno("cannot unmount " + path, errno);
}

Status make_directory(const std::string& path, mode_t mode, const Owner& owner) {
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return failure_from_errno(path, errno);
  if (::lchown(path.c_str(), owner.uid, owner.gid) != 0) return failure_from_errno(path, errno);
  return {};
}

Status fill_image(const std::string& path, const Owner& owner) {
  const std::string disk = disk_path(path);
  ::rmdir((disk + "/lost+found").c_str());
  if (::chmod(disk.c_str(), 0711) != 0) return failure_from_errno(disk, errno);
  for (const std::string& one : {disk + "/own", tmp_image_private(path)}) {
    if (auto made = make_directory(one, 0700, owner); !made) return made;
  }
  if (::mount((disk + "/own").c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return failure_from_errno("cannot mount " + path, errno);
  return {};
}

}  // namespace

Status make_tmp_image_template(const std::string& directory, uint64_t bytes) {
  const std::string file = template_path(directory, bytes);
  const std::string being_made = file + ".new";
  const std::string probe = directory + "/.probe";
  if (::access(file.c_str(), F_OK) != 0) {
    ::unlink(being_made.c_str());
    if (auto made = make_file_system(being_made, bytes); !made) return made;
    if (::chmod(being_made.c_str(), 0600) != 0 || ::rename(being_made.c_str(), file.c_str()) != 0)
      return failure_from_errno(file, errno);
  }
  if (auto removed = remove_tmp_image(probe); !removed) return removed;  // left by a killed daemon
  Status tried = make_tmp_image(probe, bytes, {});
  if (auto removed = remove_tmp_image(probe); tried) tried = std::move(removed);
  return tried;
}

Status make_tmp_image(const std::string& path, uint64_t bytes, const Owner& owner) {
  const std::string directory = path.substr(0, path.rfind('/'));
  Status made = copy_image(template_path(directory, bytes), image_path(path), bytes);
  if (made) made = make_directory(disk_path(path), 0711, {});
  if (made) made = make_directory(path, 0700, owner);
  if (made) made = mount_image(image_path(path), disk_path(path));
  if (made) made = fill_image(path, owner);
  if (!made) (void)remove_tmp_image(path);
  return made;
}

std::string tmp_image_private(const std::string& path) {
  return disk_path(path) + "/tmp";
}

bool has_tmp_image(const std::string& path) {
  return ::access(image_path(path).c_str(), F_OK) == 0;
}

Status remove_tmp_image(const std::string& path) {
  // Detached, because a process outside of the job may look into it. The file is freed when that leaves.
  if (auto done = unmount(path, MNT_DETACH); !done) return done;
  if (auto done = unmount(disk_path(path), MNT_DETACH); !done) return done;
  return remove_unmounted_tmp_image(path);
}

Status remove_unmounted_tmp_image(const std::string& path) {
  for (const std::string& one : {path, disk_path(path)}) {
    if (::rmdir(one.c_str()) != 0 && errno != ENOENT) return failure_from_errno(one, errno);
  }
  // Removed last: while it exists, the removal is not complete.
  if (::unlink(image_path(path).c_str()) != 0 && errno != ENOENT)
    return failure_from_errno(image_path(path), errno);
  return {};
}

}  // namespace minke::node
