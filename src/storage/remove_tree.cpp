#include "storage/remove_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "storage/tree_walk.h"

namespace minke::storage {

namespace {

class Remover : public Visitor {
 public:
  Remover(Failures& failures, const RemovalGuard* guard) : failures_(failures), guard_(guard) {}
  void visit(unsigned, Directory& in, const char* name, const struct statx& status) override {
    if (guard_ != nullptr && !guard_->may_unlink(status)) {
      failures_.add(in.path_of(name), EPERM, kForeign);
      return;
    }
    if (::unlinkat(in.fd(), name, 0) != 0 && errno != ENOENT) failures_.add(in.path_of(name), errno);
  }
  bool enter(unsigned, Directory& directory, const struct statx& status) override {
    if ((status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) {  // another's: it is not in this tree
      failures_.add(directory.path(), EBUSY, "something is mounted there");
      return false;
    }
    if (guard_ != nullptr && !guard_->may_empty(directory.fd())) {
      failures_.add(directory.path(), EPERM, kForeign);
      return false;
    }
    if ((status.stx_mode & 0300) != 0300) (void)::fchmod(directory.fd(), 0700);
    return true;
  }
  void leave(unsigned, Directory& directory) override {
    if (directory.parent() == nullptr) return;
    if (::unlinkat(directory.parent()->fd(), directory.name().c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
      failures_.add(directory.path(), errno);
  }
  void failed(unsigned, const std::string& path, int error_number) override {
    failures_.add(path, error_number);
  }

 private:
  static constexpr char kForeign[] = "it was put there by somebody, and is left";

  Failures& failures_;
  const RemovalGuard* guard_;
};

}  // namespace

Status remove_tree(int parent, const std::string& name, Failures& failures, const RemovalGuard* guard) {
  struct stat status {};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return failure_from_errno(name, errno);
  if (!S_ISDIR(status.st_mode)) {
    if (guard != nullptr) return failure(name + ": it is no directory", ENOTDIR);
    if (::unlinkat(parent, name.c_str(), 0) != 0) return failure_from_errno(name, errno);
    return {};
  }
  const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const os::UniqueFd directory(::openat(parent, name.c_str(), flags));
  if (!directory) return failure_from_errno(name, errno);
  // Three sweeps also remove what others make meanwhile.
  Remover remover(failures, guard);
  const unsigned mask = STATX_TYPE | STATX_MODE | (guard != nullptr ? STATX_BTIME : 0u);
  for (int sweep = 0; sweep < 3; ++sweep) {
    if (Status walked = walk_tree(directory.get(), name, {.mask = mask}, remover); !walked) return walked;
    if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    if (errno != ENOTEMPTY || failures.count() > 0) break;
  }
  return failure_from_errno(name, errno);
}

}  // namespace minke::storage
