#include "storage/copy_tree.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "os/fd.h"
#include "storage/beside.h"
#include "storage/copy_file.h"
#include "storage/copy_links.h"
#include "storage/early_writeback.h"
#include "storage/remove_tree.h"
#include "storage/tree_walk.h"

namespace minke::storage {

namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::optional<struct statx> look(int directory, const char* name, int flags = AT_SYMLINK_NOFOLLOW) {
  struct statx status {};
  if (::statx(directory, name, flags | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &status) != 0) return std::nullopt;
  return status;
}

bool same_content(const struct statx& a, const struct statx& b) {
  return (a.stx_mode & S_IFMT) == (b.stx_mode & S_IFMT) && a.stx_size == b.stx_size &&
         same_time(a.stx_mtime, b.stx_mtime);
}

// What a directory passes on to its new entries, and which owner and group are kept there.
struct Inside {
  Ownership keep;
  bool hands_down = false;  // setgid
};

struct Target : Directory::Note {
  os::UniqueFd fd;
  Inside inside;
  struct statx source {};
  std::optional<struct statx> current;
  bool empty = false;  // made by this copy: nothing is in it yet
};

// A source entry that is not a directory, and the place of its copy.
struct Entry {
  Directory& in;
  const char* name;
  const struct statx& status;
  int target;  // the directory for the copy
  const Inside& inside;
  const char* to;                              // its name there
  const std::optional<struct statx>& current;  // what has that name now

  std::string path() const { return in.path_of(name); }
};

class Copier : public Visitor {
 public:
  Copier(const CopyOptions& options, CopyProgress& progress, unsigned workers, int parent, std::string root,
         bool in_place, bool root_is_new)
      : options_(options),
        progress_(progress),
        buffers_(workers),
        parent_(parent),
        root_(std::move(root)),
        in_place_(in_place),
        root_is_new_(root_is_new),
        remove_others_(options.remove_others || in_place),
        large_threads_(std::min(workers, std::clamp(std::thread::hardware_concurrency() * 2, 4u, 16u))),
        above_(inside(parent)) {}

  bool enter(unsigned, Directory& directory, const struct statx& status) override {
    auto target = std::make_unique<Target>();
    target->source = status;
    const bool is_root = directory.parent() == nullptr;
    // Finds other ways than lies_in() does, such as a mount below the source.
    if (!is_root && made_ && same_inode(status, *made_)) {
      progress_.failures.add(directory.path(), "the copy itself is there", EINVAL);
      return false;
    }
    if (!open_target(directory, *target)) return false;
    if (!target->empty) target->current = look(target->fd.get(), "", AT_EMPTY_PATH);
    if (is_root) made_ = look(target->fd.get(), "", AT_EMPTY_PATH);
    if (target->current && (target->current->stx_mode & 0700) != 0700) (void)::fchmod(target->fd.get(), 0700);
    target->inside = inside(target->fd.get());
    directory.note = std::move(target);
    return true;
  }

  void leave(unsigned, Directory& directory) override {
    Target& target = note(directory);
    if (remove_others_ && target.current) remove_others(directory, target);
    report(directory.path(), copy_attributes(directory.fd(), target.fd.get()));
    struct statx status = target.source;
    if (options_.read_only) status.stx_mode &= ~0222;
    // If the destination's directories pass on their group, the copies do too.
    const Inside& above = directory.parent() == nullptr ? above_ : note(*directory.parent()).inside;
    if (!above.keep.group && above.hands_down) status.stx_mode |= S_ISGID;
    if (Status set = set_metadata(target.fd.get(), status, above.keep, nullptr); !set)
      progress_.failures.add(directory.path(), set.error().message, set.error().code);
  }

  void visit(unsigned worker, Directory& in, const char* name, const struct statx& status) override {
    Target& target = note(in);
    std::optional<struct statx> current;
    if (!target.empty) current = look(target.fd.get(), name);
    copy(worker, {in, name, status, target.fd.get(), target.inside, name, current});
  }

  void failed(unsigned, const std::string& path, int error_number) override {
    progress_.failures.add(path, error_number);
  }

  const Inside& above() const { return above_; }

  void copy(unsigned worker, const Entry& entry) {
    const struct statx& status = entry.status;
    if (entry.current && S_ISDIR(entry.current->stx_mode)) {
      Failures& failures = progress_.failures;
      if (!remove_others_) return failures.add(entry.path(), "there is a directory of that name");
      if (!remove(entry.target, entry.to, entry.path(), failures)) return;
    }
    if (status.stx_nlink > 1 && !S_ISLNK(status.stx_mode)) {
      const auto first = links_.first_path(status);
      if (first) return link(entry, *first);
      const bool copied = copy_one(worker, entry);
      links_.done(status, copied ? below_root(entry.in, entry.to) : "");
      return;
    }
    copy_one(worker, entry);
  }

 private:
  static Target& note(Directory& directory) { return static_cast<Target&>(*directory.note); }

  // Makes the directory's copy, or uses the existing one.
  bool open_target(Directory& directory, Target& target) {
    const bool is_root = directory.parent() == nullptr;
    const int parent = is_root ? parent_ : note(*directory.parent()).fd.get();
    const char* name = is_root ? root_.c_str() : directory.name().c_str();
    if (::mkdirat(parent, name, 0700) == 0) {
      target.empty = true;
    } else if (errno == EEXIST) {
      target.empty = is_root && root_is_new_;
    } else {
      progress_.failures.add(directory.path(), errno, "the copy cannot be made");
      return false;
    }
    target.fd.reset(::openat(parent, name, kDirectoryFlags));
    if (!target.fd && (errno == ENOTDIR || errno == ELOOP) && !is_root && remove_others_ &&
        ::unlinkat(parent, name, 0) == 0 && ::mkdirat(parent, name, 0700) == 0) {
      target.empty = true;
      target.fd.reset(::openat(parent, name, kDirectoryFlags));
    }
    if (target.fd) return true;
    progress_.failures.add(directory.path(), errno, "its copy cannot be opened");
    return false;
  }

  // The path below the destination's root; empty for the root itself, a file.
  static std::string below_root(const Directory& in, const char* name) {
    std::string path = name;
    for (const Directory* at = &in; at->parent() != nullptr; at = at->parent())
      path = at->name() + "/" + path;
    return path;
  }

  Inside inside(int directory) const {
    const auto status = look(directory, "", AT_EMPTY_PATH);
    const bool hands_down = status && (status->stx_mode & S_ISGID) != 0;
    const bool root = ::geteuid() == 0;
    return {.keep = {root && options_.keep_owner, options_.keep_group && (root || !hands_down)},
            .hands_down = hands_down};
  }

  void report(const std::string& path, const std::vector<AttributeFailure>& failures) {
    for (const AttributeFailure& failure : failures)
      progress_.failures.add(path, failure.error_number, failure.name.c_str());
  }

  bool fail(const Entry& entry, int error_number, const char* what = nullptr) {
    progress_.failures.add(entry.path(), error_number, what);
    return false;
  }

  // Removes a part of the copy that is in the way.
  static bool remove(int parent, const char* name, const std::string& path, Failures& failures) {
    const uint64_t before = failures.count();
    const Status removed = remove_tree(parent, name, failures);
    if (!removed && failures.count() == before)
      failures.add(path, removed.error().code, "its copy cannot be removed");
    return removed.has_value();
  }

  bool is_stopped() const {
    return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  }

  // A copy's temporary name: one that no entry of the source has, whose copy would collide with it.
  static std::string hidden_name(const Directory& in, const std::string& name) {
    std::string hidden = partial_name(name);
    while (::faccessat(in.fd(), hidden.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
      hidden = partial_name(hidden);
    return hidden;
  }

  void link(const Entry& entry, const std::string& first) {
    const int root = destination_root(entry.in);
    if (entry.current) {
      const auto other = look(root, first.c_str());
      if (other && same_inode(*other, *entry.current)) {
        ++progress_.same;
        return;
      }
    }
    const std::string made = entry.current ? hidden_name(entry.in, entry.to) : entry.to;
    (void)(entry.current && ::unlinkat(entry.target, made.c_str(), 0));
    if (::linkat(root, first.c_str(), entry.target, made.c_str(), 0) != 0) {
      fail(entry, errno, "cannot be linked");
      return;
    }
    if (entry.current && ::renameat(entry.target, made.c_str(), entry.target, entry.to) != 0) {
      fail(entry, errno);
      return;
    }
    ++progress_.files;
  }

  static int destination_root(Directory& in) {
    Directory* at = &in;
    while (at->parent() != nullptr) at = at->parent();
    return note(*at).fd.get();
  }

  bool copy_one(unsigned worker, const Entry& entry) {
    const auto& [in, name, status, target, inside, to, current] = entry;
    if (S_ISREG(status.stx_mode)) return copy_regular(worker, entry);
    // The others are made in one step; a rename replaces an existing one.
    if (current && same_content(*current, status)) {
      ++progress_.same;
      return true;
    }
    const std::string made = current ? hidden_name(in, to) : to;
    if (current) ::unlinkat(target, made.c_str(), 0);
    if (!(S_ISLNK(status.stx_mode) ? make_symlink(entry, made) : make_special(entry, made))) return false;
    if (::geteuid() == 0 && (options_.keep_owner || options_.keep_group) &&
        ::fchownat(target, made.c_str(), options_.keep_owner ? status.stx_uid : static_cast<uid_t>(-1),
                   options_.keep_group ? status.stx_gid : static_cast<gid_t>(-1), AT_SYMLINK_NOFOLLOW) != 0)
      return fail(entry, errno, "owner");
    const timespec times[2] = {to_timespec(status.stx_atime), to_timespec(status.stx_mtime)};
    if (::utimensat(target, made.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) return fail(entry, errno);
    if (current && ::renameat(target, made.c_str(), target, to) != 0) return fail(entry, errno);
    ++progress_.files;
    return true;
  }

  bool make_symlink(const Entry& entry, const std::string& made) {
    const uint64_t size = entry.status.stx_size;
    std::string text(size + 1, '\0');
    const ssize_t length = ::readlinkat(entry.in.fd(), entry.name, text.data(), text.size());
    if (length < 0) return fail(entry, errno);
    if (static_cast<uint64_t>(length) > size) return fail(entry, EIO, "it changed while it was read");
    text.resize(static_cast<size_t>(length));
    return ::symlinkat(text.c_str(), entry.target, made.c_str()) == 0 || fail(entry, errno, "writing");
  }

  // Makes a pipe, a socket or a device.
  bool make_special(const Entry& entry, const std::string& made) {
    const dev_t device = makedev(entry.status.stx_rdev_major, entry.status.stx_rdev_minor);
    return ::mknodat(entry.target, made.c_str(), entry.status.stx_mode, device) == 0 ||
           fail(entry, errno, "cannot be made");
  }

  bool copy_regular(unsigned worker, const Entry& entry) {
    struct statx status = entry.status;  // of the copy
    if (options_.read_only) status.stx_mode &= ~0222;
    if (entry.current && same_content(*entry.current, status) && mend(entry, status)) return true;
    const os::UniqueFd from = open_source(entry);
    if (!from) return fail(entry, errno, errno == ENOENT ? "gone meanwhile" : nullptr);
    // In a tree that has not appeared yet, nobody sees half a file.
    const bool replaced = !in_place_;
    const std::string made = replaced ? hidden_name(entry.in, entry.to) : entry.to;
    const os::UniqueFd file =
        create(entry.target, made.c_str(), replaced ? 0600 : entry.status.stx_mode & 0777);
    if (!file) return fail(entry, errno, "the copy cannot be made");
    Status done = fill(worker, entry, status, from.get(), file.get());
    if (done && replaced && ::renameat(entry.target, made.c_str(), entry.target, entry.to) != 0)
      done = failure("", errno);
    if (!done) {
      ::unlinkat(entry.target, made.c_str(), 0);
      const auto& [code, message] = done.error();
      return fail(entry, code, message.empty() ? nullptr : message.c_str());
    }
    ++progress_.files;
    return true;
  }

  static os::UniqueFd open_source(const Entry& entry) {
    constexpr int kRead = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    os::UniqueFd from(::openat(entry.in.fd(), entry.name, kRead | O_NOATIME));
    if (!from && errno == EPERM) from.reset(::openat(entry.in.fd(), entry.name, kRead));  // of another user
    return from;
  }

  static os::UniqueFd create(int directory, const char* name, mode_t mode) {
    constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    os::UniqueFd file(::openat(directory, name, kNew, mode));
    if (!file && errno == EEXIST) {  // a killed copy left it
      ::unlinkat(directory, name, 0);
      file.reset(::openat(directory, name, kNew, 0600));
    }
    return file;
  }

  // Copies content, attributes, owner and mode. An error without text is reported by its number alone.
  Status fill(unsigned worker, const Entry& entry, const struct statx& status, int from, int to) {
    const bool sparse = status.stx_blocks * 512 < status.stx_size;
    const Status content =
        copy_content(from, to, status.stx_size, sparse, large_threads_, buffers_[worker], progress_.bytes);
    if (!content) return failure("", content.error().code);
    // These have their size before their content: after a power cut, no file may look complete.
    if (options_.sync && (sparse || status.stx_size >= kLargeFile) && ::fdatasync(to) != 0)
      return failure("writing to the disk", errno);
    struct statx after {};
    if (::statx(from, "", AT_EMPTY_PATH, STATX_INO | STATX_SIZE | STATX_MTIME, &after) != 0)
      return failure("", errno);
    const struct statx& seen = entry.status;
    if (after.stx_ino != seen.stx_ino || after.stx_size != seen.stx_size ||
        !same_time(after.stx_mtime, seen.stx_mtime))
      return failure("it changed while it was read", EIO);
    report_file(entry, copy_attributes(from, to));
    // Looking costs less than a change without effect, which the file system writes to its journal.
    struct statx made_as {};
    const bool known = ::statx(to, "", AT_EMPTY_PATH, STATX_MODE | STATX_UID | STATX_GID, &made_as) == 0;
    return set_metadata(to, status, entry.inside.keep, known ? &made_as : nullptr);
  }

  // The content is there already: corrects owner and mode. Returns false if it must be copied.
  bool mend(const Entry& entry, const struct statx& status) {
    const struct statx& current = *entry.current;
    const Ownership& keep = entry.inside.keep;
    const bool same = (current.stx_mode & 07777) == (status.stx_mode & 07777) &&
                      (!keep.owner || current.stx_uid == status.stx_uid) &&
                      (!keep.group || current.stx_gid == status.stx_gid);
    if (!same) {
      const os::UniqueFd there(
          ::openat(entry.target, entry.to, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
      if (!there) return false;
      if (Status set = set_metadata(there.get(), status, keep, &current); !set)
        fail(entry, set.error().code, "its copy's mode or owner");
    }
    ++progress_.same;
    return true;
  }

  void report_file(const Entry& entry, const std::vector<AttributeFailure>& failures) {
    if (!failures.empty()) report(entry.path(), failures);
  }

  void remove_others(Directory& directory, Target& target) {
    struct Others : Visitor {
      int source, target;
      CopyProgress& progress;
      bool counted;
      Others(int from, int to, CopyProgress& told, bool count)
          : source(from), target(to), progress(told), counted(count) {}
      void check(Directory& in, const char* name) {
        if (look(source, name) || errno != ENOENT) return;
        if (remove(in.fd(), name, in.path_of(name), progress.failures) && counted) ++progress.removed;
      }
      void visit(unsigned, Directory& in, const char* name, const struct statx&) override { check(in, name); }
      bool enter(unsigned, Directory& entered, const struct statx&) override {
        if (entered.parent() == nullptr) return true;
        check(*entered.parent(), entered.name().c_str());
        return false;
      }
      void failed(unsigned, const std::string& path, int error_number) override {
        progress.failures.add(path, error_number);
      }
    } others(directory.fd(), target.fd.get(), progress_, !in_place_);
    (void)walk_tree(target.fd.get(), directory.path(), {.threads = 1}, others);
  }

  const CopyOptions& options_;
  CopyProgress& progress_;
  std::vector<std::vector<char>> buffers_;
  int parent_;
  std::string root_;
  bool in_place_, root_is_new_;
  bool remove_others_;  // also what a killed copy, perhaps of something else, has left where this one grows
  unsigned large_threads_;            // for one large file: each moves much at once
  std::optional<struct statx> made_;  // the copy's root
  Inside above_;
  Links links_;
};

// Copies the one file of the source, under its new name.
class FileCopier : public Visitor {
 public:
  FileCopier(Copier& copier, int target, const std::string& name, const std::optional<struct statx>& current)
      : copier_(copier), target_(target), name_(name), current_(current) {}
  void visit(unsigned, Directory& in, const char* entry, const struct statx& status) override {
    copier_.copy(0, {in, entry, status, target_, copier_.above(), name_.c_str(), current_});
  }
  void failed(unsigned worker, const std::string& path, int error_number) override {
    copier_.failed(worker, path, error_number);
  }

 private:
  Copier& copier_;
  int target_;
  const std::string& name_;
  const std::optional<struct statx>& current_;
};

// Whether `to`, where `current` is, may become a copy: it must not lie in its source, or change its source,
// or it would never end or lose what it is to keep.
Status check_place(const std::string& from, const struct statx& source, const std::string& to, int parent,
                   const std::optional<struct statx>& current) {
  const bool is_tree = S_ISDIR(source.stx_mode);
  if (current && is_tree != S_ISDIR(current->stx_mode))
    return failure(to + ": it is there already, and " + (is_tree ? "no directory" : "a directory"), EEXIST);
  if (!is_tree) return {};
  if (lies_in(parent, source))
    return failure(to + ": it lies in " + from + ", which would be copied into itself", EINVAL);
  if (!current) return {};
  if (same_inode(source, *current)) return failure(to + ": it is " + from + " itself", EINVAL);
  const os::UniqueFd there(::open(from.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (there && lies_in(there.get(), *current))
    return failure(from + ": it lies in " + to + ", where it would be changed itself", EINVAL);
  return {};
}

// Only one copy may grow under a name. The descriptor holds the lock.
Result<os::UniqueFd> lock_growing(int parent, const std::string& name, const std::string& to) {
  os::UniqueFd lock(::openat(parent, name.c_str(), kDirectoryFlags));
  if (!lock) return failure_from_errno(to, errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return failure(to + ": another copy is being made there", EWOULDBLOCK);
  return lock;
}

// After the walk: checks that all of it is there, and on the disk.
Status check_complete(const std::string& to, int parent, const CopyOptions& options, CopyProgress& progress) {
  if (options.stop != nullptr && *options.stop) return failure("stopped", ECANCELED);
  if (options.sync && ::syncfs(parent) != 0) progress.failures.add(to, errno, "writing to the disk");
  if (progress.failures.count() > 0) return failure(to + ": not everything could be copied", EIO);
  return {};
}

// Gives a tree that has grown under the name `made` its own name; nothing may have appeared there meanwhile.
Status take_name(int parent, const std::string& made, const std::string& name, bool sync,
                 const std::string& to) {
  if (::renameat2(parent, made.c_str(), parent, name.c_str(), RENAME_NOREPLACE) != 0)
    return failure_from_errno(to, errno);
  if (sync && ::fsync(parent) != 0) return failure_from_errno(to, errno);
  return {};
}

}  // namespace

Status copy_tree(const std::string& from, const std::string& to, const CopyOptions& options,
                 CopyProgress& progress) {
  const auto source = look(AT_FDCWD, from.c_str());
  if (!source) return failure_from_errno(from, errno);
  const auto place = beside(to);
  if (!place) return failure(place.error());
  const int parent = place->parent.get();
  const auto current = look(parent, place->name.c_str());
  if (Status good = check_place(from, *source, to, parent, current); !good) return good;
  const bool is_tree = S_ISDIR(source->stx_mode);
  // A tree that does not exist yet grows under another name.
  const bool appears = is_tree && !current;
  const std::string& made = appears ? place->partial : place->name;
  const WalkOptions walk{.threads = options.threads != 0 ? options.threads : kReadingThreads};
  const bool fresh = appears && ::mkdirat(parent, made.c_str(), 0700) == 0;
  if (appears && !fresh && errno != EEXIST) return failure_from_errno(to, errno);
  Copier copier(options, progress, walk_threads(walk), parent, made, appears, fresh);
  FileCopier file_copier(copier, parent, place->name, current);
  Result<os::UniqueFd> lock;
  if (appears && !(lock = lock_growing(parent, made, to))) return failure(lock.error());
  {
    std::optional<EarlyWriteback> early;
    if (is_tree && options.sync) early.emplace(parent, progress.bytes);
    Visitor& visitor = is_tree ? static_cast<Visitor&>(copier) : file_copier;
    if (Status walked = walk_tree(from, walk, visitor, options.stop); !walked) return walked;
  }
  if (Status complete = check_complete(to, parent, options, progress); !complete) return complete;
  return appears ? take_name(parent, made, place->name, options.sync, to) : Status();
}

}  // namespace minke::storage
