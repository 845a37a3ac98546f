#include "storage/disk_quota.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "os/fd.h"
#include "storage/snapshots.h"
#include "storage/tree_walk.h"

#ifndef PRJQUOTA
#define PRJQUOTA 2
#endif

namespace minke::storage {

namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr uint64_t kBlock = 1024;  // the unit of quotactl

Result<HeldBy> limit_qgroup(int directory, const std::string& path, const DiskLimits& limits) {
  btrfs_ioctl_quota_ctl_args enable{};
  enable.cmd = BTRFS_QUOTA_CTL_ENABLE;
  if (::ioctl(directory, BTRFS_IOC_QUOTA_CTL, &enable) != 0 && errno != EEXIST)
    return failure_from_errno(path, errno);
  btrfs_ioctl_qgroup_limit_args limit{};  // qgroup 0: the subvolume's own
  limit.lim.flags = BTRFS_QGROUP_LIMIT_MAX_RFER;
  limit.lim.max_rfer = limits.hard_space == 0 ? ~uint64_t{0} : limits.hard_space;
  if (::ioctl(directory, BTRFS_IOC_QGROUP_LIMIT, &limit) != 0) return failure_from_errno(path, errno);
  return HeldBy::kQgroup;
}

int set_project(int file, uint32_t project, bool directory) {
  fsxattr attributes{};
  if (::ioctl(file, FS_IOC_FSGETXATTR, &attributes) != 0) return errno;
  attributes.fsx_projid = project;
  if (directory) attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
  return ::ioctl(file, FS_IOC_FSSETXATTR, &attributes) != 0 ? errno : 0;
}

class ProjectSetter : public Visitor {
 public:
  explicit ProjectSetter(uint32_t project) : project_(project) {}
  std::atomic<int> error{0};

  bool enter(unsigned, Directory& directory, const struct statx&) override {
    if (const int failed = set_project(directory.fd(), project_, true)) error = failed;
    return true;
  }
  void visit(unsigned, Directory& in, const char* name, const struct statx& status) override {
    if (!S_ISREG(status.stx_mode)) return;
    const os::UniqueFd file(::openat(in.fd(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file) return;
    if (const int failed = set_project(file.get(), project_, false)) error = failed;
  }
  void failed(unsigned, const std::string&, int error_number) override { error = error_number; }

 private:
  uint32_t project_;
};

}  // namespace

Result<HeldBy> set_disk_limits(const std::string& directory, uint32_t project, const DiskLimits& limits) {
  const os::UniqueFd open(::open(directory.c_str(), kDirectoryFlags));
  struct statfs system {};
  if (!open || ::fstatfs(open.get(), &system) != 0) return failure_from_errno(directory, errno);
  if (system.f_type == BTRFS_SUPER_MAGIC)
    return is_subvolume(open.get()) ? limit_qgroup(open.get(), directory, limits)
                                    : Result<HeldBy>(HeldBy::kNobody);
  if (system.f_type != XFS_SUPER_MAGIC && system.f_type != EXT4_SUPER_MAGIC) return HeldBy::kNobody;
  dqblk quota{};
  quota.dqb_bsoftlimit = limits.space / kBlock;
  quota.dqb_bhardlimit = limits.hard_space / kBlock;
  quota.dqb_isoftlimit = limits.files;
  quota.dqb_ihardlimit = limits.hard_files;
  quota.dqb_valid = QIF_LIMITS;
  if (::syscall(SYS_quotactl_fd, open.get(), QCMD(Q_SETQUOTA, PRJQUOTA), project, &quota) != 0) {
    // It is mounted without project quotas, or the kernel has none.
    if (errno == ESRCH || errno == ENOSYS || errno == EINVAL || errno == EOPNOTSUPP) return HeldBy::kNobody;
    return failure_from_errno(directory, errno);
  }
  // Sets the limits first: users over them can then only remove files.
  ProjectSetter setter(project);
  if (const Status walked = walk_tree(open.get(), directory, {.one_file_system = true}, setter); !walked)
    return failure(walked.error());
  if (setter.error != 0) return failure_from_errno(directory, setter.error);
  return HeldBy::kProject;
}

bool make_subvolume(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return false;
  const os::UniqueFd parent(::open(path.substr(0, slash + 1).c_str(), kDirectoryFlags));
  struct statfs system {};
  if (!parent || ::fstatfs(parent.get(), &system) != 0 || system.f_type != BTRFS_SUPER_MAGIC) return false;
  btrfs_ioctl_vol_args arguments{};
  std::snprintf(arguments.name, sizeof arguments.name, "%s", path.c_str() + slash + 1);
  return ::ioctl(parent.get(), BTRFS_IOC_SUBVOL_CREATE, &arguments) == 0;
}

}  // namespace minke::storage
