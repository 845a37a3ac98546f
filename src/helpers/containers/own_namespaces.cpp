#include "helpers/containers/own_namespaces.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "os/fd.h"
#include "os/process.h"

namespace minke::helpers {

namespace {

Status write_to(const char* path, const std::string& text) {
  const os::UniqueFd file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return failure_from_errno(path, errno);
  return {};
}

Status make_users(bool as_root) {
  const std::string uid = std::to_string(::geteuid()), gid = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
    const int error = errno;
    return failure(std::string("a container needs a user namespace, which this kernel refuses: ") +
                       std::strerror(error) +
                       " (see user.max_user_namespaces, kernel.unprivileged_userns_clone, "
                       "kernel.apparmor_restrict_unprivileged_userns)",
                   error);
  }
  Status done = write_to("/proc/self/setgroups", "deny");
  if (done) done = write_to("/proc/self/uid_map", (as_root ? "0" : uid) + " " + uid + " 1\n");
  if (done) done = write_to("/proc/self/gid_map", (as_root ? "0" : gid) + " " + gid + " 1\n");
  return done;
}

// The process that the file names, if it is still the one that wrote it.
bool join_users(int meeting) {
  char text[64] = {};
  if (::pread(meeting, text, sizeof text - 1, 0) <= 0) return false;
  int pid = 0;
  unsigned long long ticks = 0;
  if (std::sscanf(text, "%d %llu", &pid, &ticks) != 2 || pid <= 0) return false;
  const os::UniqueFd users(
      ::open(("/proc/" + std::to_string(pid) + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  const auto other = os::process_of(pid);
  return users && other && other->start_ticks == ticks && ::setns(users.get(), CLONE_NEWUSER) == 0 &&
         ::unshare(CLONE_NEWNS) == 0;
}

// Others look into this process's /proc, which a change of users closes.
void tell_others(int meeting) {
  ::prctl(PR_SET_DUMPABLE, 1);
  const auto self = os::process_of(::getpid());
  const std::string text =
      std::to_string(::getpid()) + " " + std::to_string(self ? self->start_ticks : 0) + " \n";
  (void)!::pwrite(meeting, text.data(), text.size(), 0);
}

}  // namespace

Status enter_own_namespaces(bool as_root, const std::string& meeting) {
  // Where it cannot be made (a full disk), the container has a namespace of its own. Closed, it is unlocked.
  const os::UniqueFd others(
      meeting.empty() ? -1 : ::open(meeting.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  while (others && ::flock(others.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  if (!others || !join_users(others.get())) {
    if (Status made = make_users(as_root); !made) return made;
    if (others) tell_others(others.get());
  }
  // What is mounted outside still appears here; what is mounted here stays here.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return failure_from_errno("/", errno);
  return {};
}

Status mount_memory(const std::string& directory, const std::string& options) {
  if (::mount("tmpfs", directory.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    return failure_from_errno(directory, errno);
  return {};
}

Status mount_bound(const std::string& source, const std::string& target, bool read_only, bool recursive) {
  const unsigned long flags = recursive ? MS_BIND | MS_REC : MS_BIND;
  if (::mount(source.c_str(), target.c_str(), nullptr, flags, nullptr) != 0)
    return failure_from_errno(source + ": it cannot be shown as " + target, errno);
  return read_only ? make_read_only(target, recursive) : Status();
}

Status make_read_only(const std::string& target, bool recursive) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (::syscall(SYS_mount_setattr, AT_FDCWD, target.c_str(), recursive ? AT_RECURSIVE : 0, &attributes,
                sizeof attributes) != 0)
    return failure_from_errno(target, errno);
  return {};
}

}  // namespace minke::helpers
