#include "storage/tree_walk.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace minke::storage {

namespace {

// A piece of a directory: some thousand names, so that sorting them by inode pays.
constexpr size_t kPieceBytes = 256 << 10;
constexpr size_t kShare = 128;  // of its entries, for one worker: a flat directory is work for all of them
constexpr int kOpenFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

struct KernelEntry {  // linux_dirent64
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

int statx_at(int directory, const char* name, unsigned mask, struct statx& status) {
  return ::statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, mask, &status);
}

dev_t device_of(const struct statx& status) {
  return makedev(status.stx_dev_major, status.stx_dev_minor);
}

}  // namespace

std::string Directory::path() const {
  std::vector<const Directory*> line;
  for (const Directory* at = this; at != nullptr; at = at->parent_) line.push_back(at);
  std::string path;
  for (auto at = line.rbegin(); at != line.rend(); ++at) {
    if (!path.empty() && path.back() != '/') path += '/';
    path += (*at)->name_;
  }
  return path;
}

std::string Directory::path_of(const char* entry) const {
  std::string path = this->path();
  if (!path.empty() && path.back() != '/') path += '/';
  return path + entry;
}

unsigned walk_threads(const WalkOptions& options) {
  if (options.threads != 0) return options.threads;
  // More than there are processors: a disk answers several questions at once.
  return std::clamp(std::thread::hardware_concurrency() * 2, 8u, 32u);
}

class Walk {
 public:
  static Status start(int root, const std::string& name, const WalkOptions& options, Visitor& visitor,
                      const std::atomic<bool>* stop);
  static Status visit_alone(const std::string& path, const struct statx& status, Visitor& visitor);

 private:
  Walk(const WalkOptions& options, Visitor& visitor, const std::atomic<bool>* stop)
      : options_(options), visitor_(visitor), stop_(stop) {}

  void run(Directory* root) {
    stack_.push_back({root, {}});
    const unsigned count = walk_threads(options_);
    std::vector<std::thread> threads;
    for (unsigned worker = 1; worker < count; ++worker) {
      try {
        threads.emplace_back([this, worker] { work(worker); });
      } catch (const std::system_error&) {
        break;  // fewer threads will do
      }
    }
    work(0);
    for (std::thread& thread : threads) thread.join();
  }

  // Entries that were read at once, in the order of their inodes.
  struct Piece {
    std::unique_ptr<char[]> bytes;
    std::vector<const KernelEntry*> entries;
  };

  // A pending task: a child to enter, a share of a piece, or (neither) the next
  // piece of a directory.
  struct Task {
    Directory* directory;
    std::string child;
    std::shared_ptr<const Piece> piece;
    size_t begin = 0;  // the share
  };

  bool stopped() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }

  void work(unsigned worker) {
    Piece piece;
    std::unique_lock lock(mutex_);
    for (;;) {
      if (stack_.empty()) {
        if (busy_ == 0) {
          wake_.notify_all();
          return;
        }
        wake_.wait(lock);
        continue;
      }
      Task task = std::move(stack_.back());
      stack_.pop_back();
      ++busy_;
      lock.unlock();
      if (stopped()) {
        release(worker, task.directory, false);
      } else if (task.piece != nullptr) {
        visit(worker, task.directory, *task.piece, task.begin);
      } else if (task.child.empty()) {
        read_piece(worker, task.directory, piece);
      } else {
        enter(worker, task.directory, task.child);
      }
      lock.lock();
      --busy_;
    }
  }

  void push(std::vector<Task>& tasks) {
    if (tasks.empty()) return;
    const std::lock_guard lock(mutex_);
    for (Task& task : tasks) stack_.push_back(std::move(task));
    if (tasks.size() > 1) {
      wake_.notify_all();
    } else {
      wake_.notify_one();
    }
    tasks.clear();
  }

  void enter(unsigned worker, Directory* parent, const std::string& name) {
    auto child = std::make_unique<Directory>();
    child->name_ = name;
    child->parent_ = parent;
    child->depth_ = parent->depth_ + 1;
    child->fd_.reset(::openat(parent->fd(), name.c_str(), kOpenFlags));
    struct statx status {};
    if (!child->fd_ || ::statx(child->fd(), "", AT_EMPTY_PATH, options_.mask, &status) != 0) {
      // It is gone since it was seen, so it is no part of the tree any more.
      if (errno != ENOENT) visitor_.failed(worker, child->path(), errno);
      release(worker, parent, true);
      return;
    }
    child->device_ = device_of(status);
    if ((options_.one_file_system && child->device_ != parent->device_) ||
        !visitor_.enter(worker, *child, status)) {
      child.reset();
      release(worker, parent, true);
      return;
    }
    std::vector<Task> next;
    next.push_back({child.release(), {}, {}});
    push(next);
  }

  void read_piece(unsigned worker, Directory* directory, Piece& piece) {
    if (!piece.bytes) piece.bytes = std::make_unique_for_overwrite<char[]>(kPieceBytes);
    const long got = ::syscall(SYS_getdents64, directory->fd(), piece.bytes.get(), kPieceBytes);
    if (got <= 0) {
      if (got < 0 && errno != ENOENT) visitor_.failed(worker, directory->path(), errno);
      release(worker, directory, true);
      return;
    }
    piece.entries.clear();
    std::vector<Task> next;
    next.push_back({directory, {}, {}});  // below the children, so that few tasks wait
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const KernelEntry*>(piece.bytes.get() + at);
      at += entry->length;
      if (std::strcmp(entry->name, ".") == 0 || std::strcmp(entry->name, "..") == 0) continue;
      if (entry->type == DT_DIR) {
        add_child(directory, entry->name, next);
      } else {
        piece.entries.push_back(entry);
      }
    }
    // Reading in the order of the inodes takes few blocks, one after the other.
    if (!std::is_sorted(piece.entries.begin(), piece.entries.end(), by_inode))
      std::sort(piece.entries.begin(), piece.entries.end(), by_inode);
    // This worker may still use the directory when another one has read it to its end.
    directory->users_.fetch_add(1, std::memory_order_relaxed);
    if (piece.entries.size() <= kShare) {
      push(next);
      visit(worker, directory, piece, 0);
      return;
    }
    const auto shared = std::make_shared<const Piece>(std::move(piece));
    piece = {};
    for (size_t begin = (shared->entries.size() - 1) / kShare * kShare; begin > 0; begin -= kShare) {
      directory->users_.fetch_add(1, std::memory_order_relaxed);
      next.push_back({directory, {}, shared, begin});
    }
    push(next);
    visit(worker, directory, *shared, 0);
  }

  // Visits a share of a piece, then releases the directory.
  void visit(unsigned worker, Directory* directory, const Piece& piece, size_t begin) {
    std::vector<Task> next;
    const size_t end = std::min(piece.entries.size(), begin + kShare);
    for (size_t at = begin; at < end && !stopped(); ++at) {
      const KernelEntry* entry = piece.entries[at];
      struct statx status {};
      if (statx_at(directory->fd(), entry->name, options_.mask, status) != 0) {
        if (errno != ENOENT) visitor_.failed(worker, directory->path_of(entry->name), errno);
      } else if (S_ISDIR(status.stx_mode)) {  // a file system that does not report the type of an entry
        add_child(directory, entry->name, next);
      } else {
        visitor_.visit(worker, *directory, entry->name, status);
      }
    }
    push(next);
    release(worker, directory, true);
  }

  static bool by_inode(const KernelEntry* a, const KernelEntry* b) { return a->inode < b->inode; }

  static void add_child(Directory* directory, const char* name, std::vector<Task>& next) {
    directory->users_.fetch_add(1, std::memory_order_relaxed);
    next.push_back({directory, name, {}});
  }

  // Releases one use; leaves directories that are done, up the line.
  void release(unsigned worker, Directory* directory, bool tell) {
    while (directory != nullptr && directory->users_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      if (tell && !stopped()) visitor_.leave(worker, *directory);
      Directory* parent = directory->parent_;
      delete directory;
      directory = parent;
    }
  }

  const WalkOptions& options_;
  Visitor& visitor_;
  const std::atomic<bool>* stop_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Task> stack_;
  unsigned busy_ = 0;
};

Status Walk::start(int root, const std::string& name, const WalkOptions& options, Visitor& visitor,
                   const std::atomic<bool>* stop) {
  auto top = std::make_unique<Directory>();
  top->name_ = name;
  // Not dup(): that would share the position in the directory.
  top->fd_.reset(::openat(root, ".", kOpenFlags));
  struct statx status {};
  if (!top->fd_ || ::statx(top->fd(), "", AT_EMPTY_PATH, options.mask, &status) != 0)
    return failure_from_errno(name, errno);
  top->device_ = device_of(status);
  if (!visitor.enter(0, *top, status)) return {};
  Walk(options, visitor, stop).run(top.release());
  return {};
}

Status Walk::visit_alone(const std::string& path, const struct statx& status, Visitor& visitor) {
  const size_t slash = path.rfind('/');
  Directory parent;
  if (slash != std::string::npos) parent.name_ = path.substr(0, slash == 0 ? 1 : slash);
  const std::string opened = parent.name_.empty() ? "." : parent.name_;
  parent.fd_.reset(::open(opened.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.fd_) parent.fd_.reset(::open(opened.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent.fd_) return failure_from_errno(path, errno);
  visitor.visit(0, parent, slash == std::string::npos ? path.c_str() : path.c_str() + slash + 1, status);
  return {};
}

Status walk_tree(int root, const std::string& name, const WalkOptions& options, Visitor& visitor,
                 const std::atomic<bool>* stop) {
  return Walk::start(root, name, options, visitor, stop);
}

Status walk_tree(const std::string& root, const WalkOptions& options, Visitor& visitor,
                 const std::atomic<bool>* stop) {
  struct statx status {};
  if (statx_at(AT_FDCWD, root.c_str(), options.mask, status) != 0) return failure_from_errno(root, errno);
  if (!S_ISDIR(status.stx_mode)) return Walk::visit_alone(root, status, visitor);
  const os::UniqueFd opened(::open(root.c_str(), kOpenFlags));
  if (!opened) return failure_from_errno(root, errno);
  return Walk::start(opened.get(), root, options, visitor, stop);
}

}  // namespace minke::storage
