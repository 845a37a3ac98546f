// Compares a copy with its source.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "os/fd.h"
#include "storage/copy_file.h"
#include "storage/copy_tree.h"
#include "storage/tree_walk.h"

namespace minke::storage {

namespace {

struct Other : Directory::Note {
  os::UniqueFd fd;
};

// Walks one tree with the other beside it. With `content` false it only checks that everything of this
// one is in the other.
class Compare : public Visitor {
 public:
  Compare(int other, std::string name, bool content, unsigned workers, Failures& failures,
          CopyProgress* progress)
      : other_(other),
        name_(std::move(name)),
        content_(content),
        buffers_(workers),
        failures_(failures),
        progress_(progress) {}

  bool enter(unsigned, Directory& directory, const struct statx& status) override {
    auto other = std::make_unique<Other>();
    const bool is_root = directory.parent() == nullptr;
    other->fd.reset(::openat(is_root ? other_ : fd_of(*directory.parent()),
                             is_root ? name_.c_str() : directory.name().c_str(),
                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!other->fd) {
      failures_.add(directory.path(),
                    errno == ENOENT ? missing() : "the other is no directory that can be read");
      return false;
    }
    struct stat there {};
    if (content_ && ::fstat(other->fd.get(), &there) == 0 &&
        (there.st_mode & 01777) != (status.stx_mode & 01777))
      failures_.add(directory.path(), "the mode differs");
    directory.note = std::move(other);
    return true;
  }

  void visit(unsigned worker, Directory& in, const char* name, const struct statx& status) override {
    compare(worker, in, name, status, fd_of(in), name);
  }

  void compare(unsigned worker, Directory& in, const char* name, const struct statx& status, int other,
               const char* as) {
    struct stat there {};
    const auto differs = [&](const std::string& what) { failures_.add(in.path_of(name), what); };
    if (::fstatat(other, as, &there, AT_SYMLINK_NOFOLLOW) != 0)
      return differs(errno == ENOENT ? missing() : std::strerror(errno));
    if (!content_) return;
    if ((there.st_mode & S_IFMT) != (status.stx_mode & S_IFMT)) return differs("the kind differs");
    if (S_ISLNK(status.stx_mode)) {
      std::string a(status.stx_size + 1, '\0'), b = a;
      const ssize_t length = ::readlinkat(in.fd(), name, a.data(), a.size());
      if (length < 0 || ::readlinkat(other, as, b.data(), b.size()) != length || a != b)
        differs("the symbolic link differs");
      return;
    }
    if (!S_ISREG(status.stx_mode)) return;
    if (static_cast<uint64_t>(there.st_size) != status.stx_size) return differs("the size differs");
    if ((there.st_mode & 07777) != (status.stx_mode & 07777)) differs("the mode differs");
    if (const std::string problem = content(worker, in.fd(), name, other, as); !problem.empty())
      differs(problem);
  }

  void failed(unsigned, const std::string& path, int error_number) override {
    failures_.add(path, error_number);
  }

 private:
  static int fd_of(Directory& directory) { return static_cast<Other&>(*directory.note).fd.get(); }
  std::string missing() const { return content_ ? "it is missing in the copy" : "only the copy has it"; }

  std::string content(unsigned worker, int from, const char* name, int other, const char* as) {
    constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    const os::UniqueFd a(::openat(from, name, kFlags)), b(::openat(other, as, kFlags));
    if (!a || !b) return std::strerror(errno);
    (void)::posix_fadvise(b.get(), 0, 0, POSIX_FADV_DONTNEED);
    auto& [left, right] = buffers_[worker];
    left.resize(kCopyBuffer);
    right.resize(kCopyBuffer);
    for (;;) {
      const ssize_t got = ::read(a.get(), left.data(), left.size());
      if (got < 0) return std::strerror(errno);
      for (ssize_t have = 0; have < std::max<ssize_t>(got, 1);) {
        const ssize_t more = ::read(b.get(), right.data() + have, right.size() - have);
        if (more < 0) return std::strerror(errno);
        if (more == 0) return got == 0 ? "" : "the content differs";
        if (have + more > got) return "the content differs";
        have += more;
      }
      if (std::memcmp(left.data(), right.data(), got) != 0) return "the content differs";
      if (progress_ != nullptr) progress_->bytes.fetch_add(got, std::memory_order_relaxed);
    }
  }

  int other_;
  std::string name_;
  bool content_;
  std::vector<std::pair<std::vector<char>, std::vector<char>>> buffers_;
  Failures& failures_;
  CopyProgress* progress_;
};

}  // namespace

Status compare_trees(const std::string& from, const std::string& to, unsigned threads, Failures& failures,
                     CopyProgress* progress) {
  const WalkOptions options{.threads = threads != 0 ? threads : kReadingThreads};
  struct statx status {};
  if (::statx(AT_FDCWD, from.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &status) != 0)
    return failure_from_errno(from, errno);
  if (!S_ISDIR(status.stx_mode)) {
    struct One : Visitor {
      Compare& compare;
      std::string to;
      One(Compare& all, std::string other) : compare(all), to(std::move(other)) {}
      void visit(unsigned, Directory& in, const char* name, const struct statx& seen) override {
        compare.compare(0, in, name, seen, AT_FDCWD, to.c_str());
      }
      void failed(unsigned worker, const std::string& path, int error_number) override {
        compare.failed(worker, path, error_number);
      }
    };
    Compare compare(AT_FDCWD, to, true, 1, failures, progress);
    One one(compare, to);
    return walk_tree(from, options, one);
  }
  Compare forth(AT_FDCWD, to, true, walk_threads(options), failures, progress);
  if (Status walked = walk_tree(from, options, forth); !walked) return walked;
  Compare back(AT_FDCWD, from, false, walk_threads(options), failures, nullptr);
  return walk_tree(to, options, back);
}

}  // namespace minke::storage
