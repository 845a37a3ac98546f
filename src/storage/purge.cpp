#include "storage/purge.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <vector>

#include "os/fd.h"
#include "storage/inode_set.h"
#include "storage/tree_walk.h"
#include "storage/words.h"

namespace minke::storage {

namespace {

constexpr ino_t kExt4Root = 2;          // of a whole file system; a part of it is walked
constexpr size_t kBuffered = 64 << 10;  // of a list, before it is written

int64_t last_use(const struct statx& status) {
  return std::max(status.stx_atime.tv_sec, status.stx_ctime.tv_sec);
}

// The working state of one worker on the tables.
struct alignas(128) Hand {
  std::string lines;
  std::string directory, shown;  // shown: its path, as a list has it
  os::UniqueFd fd;               // of that directory
  bool open = false;
};

class Purger : public Visitor {
 public:
  Purger(const std::string& root, const PurgeOptions& options, PurgeResult& result)
      : root_(root), options_(options), result_(result) {}
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> files{0}, space{0};
  std::atomic<int> record_error{0};

  void visit(unsigned, Directory& in, const char* name, const struct statx& seen) override {
    if (!is_old(seen)) return;
    const std::string path = in.path_of(name);
    const OldFile file{.inode = seen.stx_ino,
                       .last_use = last_use(seen),
                       .uid = seen.stx_uid,
                       .links = seen.stx_nlink,
                       .size = seen.stx_size,
                       .space = seen.stx_blocks * 512};
    // One write keeps lines of several threads apart; it precedes the removal, so that no line is missing.
    if (!record(line(file, path))) return;
    if (!options_.remove || remove(in.fd(), name, file, path)) count(file);
  }
  void failed(unsigned, const std::string& path, int error_number) override {
    result_.failures.add(path, error_number);
  }

  // Returns false, and does nothing, where this is not possible.
  Result<bool> by_tables() {
    std::vector<Hand> hands;
    top_.reset(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!top_) return failure_from_errno(root_, errno);
    struct stat status {};
    if (::fstat(top_.get(), &status) != 0 || status.st_ino != kExt4Root) return false;
    bool begun = false;
    const Status done = each_old_by_tables(
        root_, options_.before, options_.limits,
        [&](unsigned workers) {
          hands = std::vector<Hand>(workers);
          begun = true;
        },
        [&](unsigned worker, const std::string& directory, std::string_view name, const OldFile& file) {
          if (!stop) take(hands[worker], directory, std::string(name), file);
        });
    if (!begun) return false;
    if (!done) return failure(done.error());
    for (const Hand& hand : hands)
      if (!record(hand.lines)) break;
    return true;
  }

 private:
  bool is_old(const struct statx& status) const {
    return (S_ISREG(status.stx_mode) || S_ISLNK(status.stx_mode)) && last_use(status) < options_.before;
  }

  static std::string line(const OldFile& file, const std::string& path) {
    return std::to_string(file.last_use) + " " + std::to_string(file.uid) + " " + std::to_string(file.size) +
           " " + shown_path(path) + "\n";
  }

  bool record(const std::string& lines) {
    if (options_.record < 0 || lines.empty()) return true;
    if (::write(options_.record, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size()))
      return true;
    record_error = errno != 0 ? errno : ENOSPC;
    stop = true;
    return false;
  }

  void count(const OldFile& file) {
    ++files;
    if (file.links < 2 || met_.insert(0, file.inode)) space += file.space;
  }

  bool remove(int directory, const char* name, const OldFile& seen, const std::string& path) {
    struct statx now {};
    if (::statx(directory, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &now) != 0 ||
        now.stx_ino != seen.inode || !is_old(now))
      return false;
    if (::unlinkat(directory, name, 0) == 0) return true;
    if (errno != ENOENT) result_.failures.add(path, errno);
    return false;
  }

  // Ends in a slash.
  std::string below_root(const std::string& directory) const {
    std::string path = root_;
    if (path.back() != '/') path += '/';
    if (!directory.empty()) path += directory + "/";
    return path;
  }

  // Like line(), for hundreds of thousands: the part common to a directory is made once.
  void add_line(Hand& hand, const std::string& directory, const std::string& name, const OldFile& file) {
    if (!hand.open || hand.directory != directory) {
      hand.directory = directory;
      hand.shown = shown_path(below_root(directory));
      hand.open = true;
    }
    char numbers[80];
    char* at = std::to_chars(numbers, numbers + 24, file.last_use).ptr;
    *at++ = ' ';
    at = std::to_chars(at, at + 12, file.uid).ptr;
    *at++ = ' ';
    at = std::to_chars(at, at + 24, file.size).ptr;
    *at++ = ' ';
    hand.lines.append(numbers, at).append(hand.shown).append(shown_path(name)).append(1, '\n');
    if (hand.lines.size() < kBuffered) return;
    (void)record(hand.lines);
    hand.lines.clear();
  }

  void take(Hand& hand, const std::string& directory, const std::string& name, const OldFile& file) {
    if (!options_.remove) {
      if (options_.record >= 0) add_line(hand, directory, name, file);
      return count(file);
    }
    std::string path = below_root(directory);
    path += name;
    if (!hand.open || hand.directory != directory) {
      open_how how{};
      how.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
      how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
      const char* below = directory.empty() ? "." : directory.c_str();
      hand.fd.reset(static_cast<int>(::syscall(SYS_openat2, top_.get(), below, &how, sizeof how)));
      hand.directory = directory;
      hand.open = true;
    }
    // It was moved, or a mount covers it: it is not in this tree.
    struct statx now {};
    if (!hand.fd || ::statx(hand.fd.get(), name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &now) != 0 ||
        now.stx_ino != file.inode || !is_old(now))
      return;
    if (record(line(file, path)) && remove(hand.fd.get(), name.c_str(), file, path)) count(file);
  }

  const std::string& root_;
  const PurgeOptions& options_;
  PurgeResult& result_;
  os::UniqueFd top_;
  InodeSet met_;  // files with several names: their space is counted once. All of one file system
};

}  // namespace

Status purge_tree(const std::string& root, const PurgeOptions& options, PurgeResult& result) {
  Purger purger(root, options, result);
  bool done = false;
  if (options.tables && ::geteuid() == 0) {
    const auto by_tables = purger.by_tables();
    if (!by_tables) return failure(by_tables.error());
    done = *by_tables;
  }
  if (!done) {
    const WalkOptions walk{.one_file_system = true};
    if (Status walked = walk_tree(root, walk, purger, &purger.stop); !walked) return walked;
  }
  result.files = purger.files;
  result.space = purger.space;
  if (purger.record_error != 0) return failure_from_errno("the record", purger.record_error);
  if (options.record >= 0 && options.sync && ::fsync(options.record) != 0)
    return failure_from_errno("the record", errno);
  return {};
}

}  // namespace minke::storage
