#include "storage/group_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "storage/snapshots.h"
#include "storage/tree_walk.h"

namespace minke::storage {

namespace {

constexpr size_t kExamples = 5;

class Checker : public Visitor {
 public:
  Checker(gid_t group, bool mend, GroupFindings& findings)
      : group_(group), mend_(mend), findings_(findings) {}

  bool enter(unsigned, Directory& directory, const struct statx& status) override {
    if (directory.depth() == 1 && directory.name() == kSnapshotDirectory) return false;
    const bool other = status.stx_gid != group_, plain = (status.stx_mode & S_ISGID) == 0;
    if (!other && !plain) return true;
    found(other, plain, directory.path());
    if (!mend_) return true;
    if ((other && ::fchown(directory.fd(), static_cast<uid_t>(-1), group_) != 0) ||
        ::fchmod(directory.fd(), (status.stx_mode & 07777) | S_ISGID) != 0) {
      findings_.failures.add(directory.path(), errno);
    } else {
      mended(other + plain);
    }
    return true;
  }

  void visit(unsigned, Directory& in, const char* name, const struct statx& status) override {
    if (status.stx_gid == group_) return;
    found(true, false, in.path_of(name));
    // For root: a file with another name elsewhere is not for this project to change.
    if (!mend_ || (::geteuid() == 0 && status.stx_nlink > 1)) return;
    if (::fchownat(in.fd(), name, static_cast<uid_t>(-1), group_, AT_SYMLINK_NOFOLLOW) == 0) return mended(1);
    if (errno != ENOENT) findings_.failures.add(in.path_of(name), errno);
  }

  void failed(unsigned, const std::string& path, int error_number) override {
    findings_.failures.add(path, error_number);
  }

 private:
  void found(bool other, bool plain, const std::string& path) {
    const std::lock_guard lock(mutex_);
    findings_.other_group += other;
    findings_.not_handed_down += plain;
    if (findings_.examples.size() < kExamples) findings_.examples.push_back(path);
  }
  void mended(uint64_t count) {
    const std::lock_guard lock(mutex_);
    findings_.mended += count;
  }

  gid_t group_;
  bool mend_;
  GroupFindings& findings_;
  std::mutex mutex_;  // guards the findings
};

}  // namespace

Status check_groups(const std::string& directory, gid_t group, bool mend, GroupFindings& findings) {
  Checker checker(group, mend, findings);
  return walk_tree(directory, {.one_file_system = true}, checker);
}

}  // namespace minke::storage
