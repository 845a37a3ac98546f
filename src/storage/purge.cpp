#include "storage/purge.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "storage/tree_walk.h"
#include "storage/words.h"

namespace minke::storage {

namespace {

class Purger : public Visitor {
 public:
  Purger(const PurgeOptions& options, PurgeResult& result) : options_(options), result_(result) {}
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> files{0}, space{0};
  std::atomic<int> record_error{0};

  void visit(unsigned, Directory& in, const char* name, const struct statx& seen) override {
    if (!is_old(seen)) return;
    const std::string path = in.path_of(name);
    // One write, so that lines of several threads do not mix; before the removal, so that none is missing.
    const std::string line = std::to_string(last_use(seen)) + " " + std::to_string(seen.stx_uid) + " " +
                             std::to_string(seen.stx_size) + " " + shown_path(path) + "\n";
    if (options_.record >= 0 &&
        ::write(options_.record, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      record_error = errno != 0 ? errno : ENOSPC;
      stop = true;
      return;
    }
    if (options_.remove) {
      struct statx now {};
      if (::statx(in.fd(), name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &now) != 0 ||
          now.stx_ino != seen.stx_ino || !is_old(now))
        return;
      if (::unlinkat(in.fd(), name, 0) != 0) {
        if (errno != ENOENT) result_.failures.add(path, errno);
        return;
      }
    }
    ++files;
    space += seen.stx_blocks * 512;
  }
  void failed(unsigned, const std::string& path, int error_number) override {
    result_.failures.add(path, error_number);
  }

 private:
  static int64_t last_use(const struct statx& status) {
    return std::max(status.stx_atime.tv_sec, status.stx_ctime.tv_sec);
  }
  bool is_old(const struct statx& status) const {
    return (S_ISREG(status.stx_mode) || S_ISLNK(status.stx_mode)) && last_use(status) < options_.before;
  }

  const PurgeOptions& options_;
  PurgeResult& result_;
};

}  // namespace

Status purge_tree(const std::string& root, const PurgeOptions& options, PurgeResult& result) {
  Purger purger(options, result);
  const WalkOptions walk{.one_file_system = true};
  if (Status walked = walk_tree(root, walk, purger, &purger.stop); !walked) return walked;
  result.files = purger.files;
  result.space = purger.space;
  if (purger.record_error != 0) return failure_from_errno("the record", purger.record_error);
  if (options.record >= 0 && ::fsync(options.record) != 0) return failure_from_errno("the record", errno);
  return {};
}

}  // namespace minke::storage
