#include "storage/mounted_image.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "os/fd.h"
#include "os/files.h"
#include "storage/run_program.h"

namespace minke::storage {

namespace {

bool same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

std::string in_proc(pid_t process, const char* what) {
  return "/proc/" + std::to_string(process) + "/" + what;
}

pid_t parent_of(pid_t process) {
  const auto text = os::read_file(in_proc(process, "stat"), 4096);
  const size_t name = text ? text->rfind(") ") : std::string::npos;  // "PID (NAME) STATE PARENT …"
  return name != std::string::npos && text->size() > name + 4 ? std::atoi(text->c_str() + name + 4) : 0;
}

// "…\0NAME=VALUE\0": with a zero byte before each and behind the last.
std::string environment_of(pid_t process) {
  const auto text = os::read_file(in_proc(process, "environ"), 8 << 20);
  return text ? '\0' + *text : std::string();
}

// The mounts of the farthest ancestor of this process that runs this program: the launcher, or its starter.
os::UniqueFd mounts_of_launcher() {
  struct stat own {
  }, other{};
  if (::stat("/proc/self/exe", &own) != 0) return {};
  pid_t launcher = 0;
  for (pid_t process = ::getppid(); process > 0; process = parent_of(process))
    if (::stat(in_proc(process, "exe").c_str(), &other) == 0 && same(own, other)) launcher = process;
  if (launcher == 0) return {};
  return os::UniqueFd(::open(in_proc(launcher, "ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
}

// The mounts of the job's processes: its script and each step have their own.
std::vector<os::UniqueFd> mounts_of_job() {
  std::vector<os::UniqueFd> found;
  std::set<ino_t> known;
  for (const pid_t process : processes_of_job(::getpid(), ::geteuid())) {
    os::UniqueFd mounts(::open(in_proc(process, "ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (mounts && ::fstat(mounts.get(), &status) == 0 && known.insert(status.st_ino).second)
      found.push_back(std::move(mounts));
  }
  return found;
}

// Mounts it in another namespace, which mounts do not reach by themselves. `there` is where it is mounted.
Status hand_on(int there, int to, const std::string& directory, const struct stat& meant) {
  struct stat seen {};
  if (::setns(there, CLONE_NEWNS) != 0) return failure_from_errno(directory, errno);
  const os::UniqueFd tree(static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, directory.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
  if (!tree || ::setns(to, CLONE_NEWNS) != 0) return failure_from_errno(directory, errno);
  if (is_mounted(directory)) return {};
  if (::stat(directory.c_str(), &seen) != 0 || !same(seen, meant) ||
      ::syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, directory.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return failure(directory + ": it cannot be mounted for all of the job", EPERM);
  return {};
}

// Runs in a thread of its own, which shares neither its working directory nor its mounts with others.
Status mount_for_all(const std::string& image, const std::string& directory) {
  const os::UniqueFd there = mounts_of_launcher();
  struct stat seen {
  }, meant{};
  if (!there) return failure(directory + ": this is no job of a launcher of the same program", EPERM);
  const os::UniqueFd here(::open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC));
  if (!here || ::stat(directory.c_str(), &meant) != 0 || ::unshare(CLONE_FS) != 0 ||
      ::setns(there.get(), CLONE_NEWNS) != 0)
    return failure_from_errno(directory, errno);
  if (::stat(directory.c_str(), &seen) != 0 || !same(seen, meant))
    return failure(directory + ": it is another directory where the launcher is", EPERM);
  Status done = mount_by_kernel(image, directory);
  if (!done) return done;
  // Processes that start from now on have it; the others get it here.
  for (const os::UniqueFd& mounts : mounts_of_job())
    if (done) done = hand_on(there.get(), mounts.get(), directory, meant);
  if (done) done = hand_on(there.get(), here.get(), directory, meant);
  if (!done && ::setns(there.get(), CLONE_NEWNS) == 0)
    (void)::umount2(directory.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  return done;
}

}  // namespace

std::vector<pid_t> processes_of_job(pid_t process, uid_t user) {
  const std::string name("\0SLURM_JOB_ID=", 14), own = environment_of(process);
  const size_t at = own.find(name), end = at == std::string::npos ? at : own.find('\0', at + 1);
  if (end == std::string::npos) return {process};
  const std::string job = own.substr(at, end + 1 - at);
  std::vector<pid_t> found = {process};
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir("/proc"), ::closedir);
  while (const dirent* entry = all ? ::readdir(all.get()) : nullptr) {
    const pid_t other = std::atoi(entry->d_name);
    struct stat status {};
    if (other > 0 && other != process && ::stat(in_proc(other, "").c_str(), &status) == 0 &&
        status.st_uid == user && environment_of(other).find(job) != std::string::npos)
      found.push_back(other);
  }
  return found;
}

bool is_mounted(const std::string& directory) {
  struct stat above {
  }, own{};
  return ::stat((directory + "/..").c_str(), &above) == 0 && ::stat(directory.c_str(), &own) == 0 &&
         above.st_dev != own.st_dev;
}

Status mount_by_kernel(const std::string& image, const std::string& directory) {
  return run_program({"mount", "-t", "squashfs", "-o", "loop,ro,nosuid,nodev", image, directory});
}

Status mount_for_job(const std::string& image, const std::string& directory) {
  Status done;
  std::thread([&] { done = mount_for_all(image, directory); }).join();
  return done;
}

Status mount_by_squashfuse(const std::string& image, const std::string& directory) {
  return run_program({"env", "--ignore-signal=HUP,INT,QUIT,TERM", "squashfuse_ll", "-o", "ro,nosuid,nodev",
                      image, directory});
}

}  // namespace minke::storage
