#include "storage/pack_tar.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "os/fd.h"
#include "storage/copy_file.h"
#include "storage/remove_tree.h"
#include "storage/tar_archive.h"
#include "storage/tar_format.h"
#include "storage/tar_index.h"
#include "storage/tree_list.h"

namespace minke::storage {

namespace {

constexpr uint64_t kSmall = 128 << 10;  // read ahead by the readers; larger ones are read by the writer
constexpr size_t kBatch = 32;           // entries that are handed on together
constexpr size_t kBatchesAhead = 64;

struct Item {
  ListedEntry entry;
  TarMember member;
  std::string content;  // of a small file
  os::UniqueFd file;    // of a large one, to be read
  struct statx status {};
  uint32_t crc = 0;
  bool ready = false;  // false: it is left out; the failure has been told, or it is gone
};
struct Batch {
  std::vector<Item> items;
  bool read = false;
};

std::map<std::string, std::string> read_attributes(int file) {
  std::map<std::string, std::string> attributes;
  char names[4096];
  const ssize_t length = ::flistxattr(file, names, sizeof names);
  for (ssize_t at = 0; at < length;) {
    const std::string name = names + at;
    at += static_cast<ssize_t>(name.size()) + 1;
    if (!name.starts_with("user.") && !name.starts_with("system.posix_acl_")) continue;
    std::string value(64 << 10, '\0');
    const ssize_t got = ::fgetxattr(file, name.c_str(), value.data(), value.size());
    if (got >= 0) attributes[name] = value.substr(0, static_cast<size_t>(got));
  }
  return attributes;
}

class Packer {
 public:
  Packer(const std::string& from, const PackOptions& options, PackProgress& progress)
      : from_(from), options_(options), progress_(progress), list_(from, progress.failures) {
    std::string name = from;
    while (name.size() > 1 && name.back() == '/') name.pop_back();
    prefix_ = name.substr(name.rfind('/') + 1);
  }

  bool is_open() const { return list_.is_open(); }

  // Writes into `directory`: an archive of this name, or shards.
  Status run(int directory, const std::string& name) {
    directory_ = directory;
    name_ = name;
    std::vector<std::thread> threads;
    threads.emplace_back([this] { list(); });
    const unsigned readers = options_.threads != 0
                                 ? options_.threads
                                 : std::clamp(std::thread::hardware_concurrency() * 2, 4u, 16u);
    for (unsigned i = 0; i < readers; ++i) threads.emplace_back([this] { read(); });
    Status written = write();
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads) thread.join();
    if (!written) return written;
    return {};
  }

 private:
  bool stopped() const { return options_.stop != nullptr && *options_.stop; }

  // ---- the list, in order, in batches
  void list() {
    for (bool more = true; more;) {
      auto batch = std::make_shared<Batch>();
      ListedEntry entry;
      while (batch->items.size() < kBatch && (more = list_.next(entry)) && !stopped()) {
        batch->items.emplace_back().entry = std::move(entry);
      }
      more = more && !stopped();
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return over_ || in_order_.size() < kBatchesAhead; });
      if (over_) return;
      in_order_.push_back(batch);
      to_read_.push_back(std::move(batch));
      listed_ = !more;
      wake_.notify_all();
    }
  }

  // ---- reading, by several threads
  void read() {
    for (;;) {
      std::shared_ptr<Batch> batch;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return over_ || listed_ || !to_read_.empty(); });
        if (over_ || to_read_.empty()) return;
        batch = std::move(to_read_.front());
        to_read_.pop_front();
      }
      for (Item& item : batch->items) read(item);
      const std::lock_guard lock(mutex_);
      batch->read = true;
      wake_.notify_all();
    }
  }

  std::string shown(const Item& item) const {
    return item.entry.path.empty() ? from_ : from_ + "/" + item.entry.path;
  }
  void fail(const Item& item, int error_number) {
    progress_.failures.add(
        shown(item), error_number == ENOENT ? std::string("gone meanwhile") : std::strerror(error_number),
        error_number);
  }

  void read(Item& item) {
    const int directory = item.entry.directory->get();
    const char* name = item.entry.name.c_str();
    const int flags = *name == '\0' ? AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW;
    struct statx& status = item.status;
    if (::statx(directory, name, flags, STATX_BASIC_STATS, &status) != 0) return fail(item, errno);
    TarMember& member = item.member;
    member.name = item.entry.path;
    member.mode = status.stx_mode & 07777;
    member.uid = status.stx_uid;
    member.gid = status.stx_gid;
    member.mtime_s = status.stx_mtime.tv_sec;
    member.mtime_ns = status.stx_mtime.tv_nsec;
    if (S_ISDIR(status.stx_mode)) {
      if (*name != '\0') return;  // it could not be entered, which was told
      member.type = '5';
      member.attributes = read_attributes(directory);
    } else if (S_ISLNK(status.stx_mode)) {
      member.type = '2';
      member.target.resize(status.stx_size + 1);
      const ssize_t length = ::readlinkat(directory, name, member.target.data(), member.target.size());
      if (length < 0) return fail(item, errno);
      member.target.resize(static_cast<size_t>(length));
    } else if (S_ISREG(status.stx_mode)) {
      if (!read_regular(item, directory, name)) return;
    } else if (S_ISSOCK(status.stx_mode)) {
      return;  // it means nothing without its server
    } else {
      member.type = S_ISFIFO(status.stx_mode) ? '6' : S_ISCHR(status.stx_mode) ? '3' : '4';
      member.device_major = status.stx_rdev_major;
      member.device_minor = status.stx_rdev_minor;
    }
    item.ready = true;
  }

  bool read_regular(Item& item, int directory, const char* name) {
    item.file.reset(::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!item.file) {
      fail(item, errno);
      return false;
    }
    item.member.size = item.status.stx_size;
    item.member.attributes = read_attributes(item.file.get());
    if (item.member.size > kSmall) return true;
    item.content.resize(item.member.size);
    for (size_t have = 0; have < item.content.size();) {
      const ssize_t got = ::pread(item.file.get(), item.content.data() + have, item.content.size() - have,
                                  static_cast<off_t>(have));
      if (got < 0) {
        fail(item, errno);
        return false;
      }
      if (got == 0) break;  // unchanged() notices
      have += got;
    }
    item.crc = tar_crc(0, item.content.data(), item.content.size());
    if (!unchanged(item)) return false;
    item.file.reset();
    return true;
  }

  bool unchanged(const Item& item) {
    struct statx after {};
    if (::statx(item.file.get(), "", AT_EMPTY_PATH, STATX_SIZE | STATX_MTIME, &after) == 0 &&
        after.stx_size == item.status.stx_size && same_time(after.stx_mtime, item.status.stx_mtime))
      return true;
    progress_.failures.add(shown(item), "it changed while it was read", EIO);
    return false;
  }

  // ---- writing, in order
  Status write() {
    for (;;) {
      std::shared_ptr<Batch> batch;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] {
          return (in_order_.empty() && listed_) || (!in_order_.empty() && in_order_.front()->read);
        });
        if (in_order_.empty()) break;
        batch = std::move(in_order_.front());
        in_order_.pop_front();
        wake_.notify_all();
      }
      if (stopped()) return failure("stopped", ECANCELED);
      for (Item& item : batch->items) {
        if (!item.ready) continue;
        if (Status put = write(item); !put) return put;
      }
    }
    if (stopped()) return failure("stopped", ECANCELED);
    if (!archive_)
      if (Status begun = next_archive(); !begun) return begun;
    return end_archive();
  }

  static std::string sample_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    const size_t dot = path.find('.', slash == std::string::npos ? 0 : slash + 1);
    return path.substr(0, dot);
  }

  Status next_archive() {
    const std::string name = options_.shard_bytes == 0 ? name_ : shard_name(shards_++);
    auto made = TarArchive::create(directory_, name);
    if (!made) return failure(made.error());
    archive_ = std::make_unique<TarArchive>(std::move(*made));
    archive_name_ = name;
    first_of_.clear();
    return {};
  }
  static std::string shard_name(unsigned number) {
    char text[32];
    std::snprintf(text, sizeof text, "%06u.tar", number);
    return text;
  }
  Status end_archive() {
    if (Status done = archive_->finish(); !done) return done;
    return verify_archive(archive_->fd(), archive_name_, progress_.verified, options_.stop);
  }

  Status write(Item& item) {
    TarMember& member = item.member;
    const bool in_shards = options_.shard_bytes != 0;
    if (in_shards && member.type == '5') return {};
    const std::string sample = in_shards ? sample_of(member.name) : "";
    if (!archive_ || (in_shards && archive_->size() >= options_.shard_bytes && sample != sample_)) {
      if (archive_)
        if (Status ended = end_archive(); !ended) return ended;
      if (Status begun = next_archive(); !begun) return begun;
    }
    sample_ = sample;
    if (!in_shards) member.name = member.name.empty() ? prefix_ : prefix_ + "/" + member.name;
    if (member.type == '0' && item.status.stx_nlink > 1 && !in_shards) {
      const auto [first, fresh] = first_of_.try_emplace(
          {item.status.stx_dev_major, item.status.stx_dev_minor, item.status.stx_ino}, member.name);
      if (!fresh) {
        member.type = '1';
        member.target = first->second;
      }
    }
    if (Status put = archive_->write(tar_header(member)); !put) return put;
    ++progress_.files;
    if (member.type != '0') return {};
    const IndexEntry place{archive_->size(), member.size, item.crc, member.name};
    if (item.file) return write_large(item, place);
    if (Status put = archive_->write(item.content); !put) return put;
    progress_.bytes += member.size;
    if (Status put = archive_->write(std::string(tar_padding(member.size), '\0')); !put) return put;
    return archive_->add_to_index(place);
  }

  // The header has told the size: whatever happens, so many bytes follow.
  Status write_large(Item& item, IndexEntry place) {
    std::string piece(1 << 20, '\0');
    place.crc = 0;
    for (uint64_t at = 0; at < place.size;) {
      const size_t wanted = std::min<uint64_t>(piece.size(), place.size - at);
      ssize_t got = ::pread(item.file.get(), piece.data(), wanted, static_cast<off_t>(at));
      if (got < 0) {
        fail(item, errno);
        return failure(shown(item) + ": not readable", EIO);
      }
      if (got == 0) break;
      place.crc = tar_crc(place.crc, piece.data(), static_cast<size_t>(got));
      if (Status put = archive_->write({piece.data(), static_cast<size_t>(got)}); !put) return put;
      progress_.bytes += got;
      at += got;
      if (stopped()) return failure("stopped", ECANCELED);
    }
    if (!unchanged(item)) return failure(shown(item) + ": it changed", EIO);
    if (Status put = archive_->write(std::string(tar_padding(place.size), '\0')); !put) return put;
    return archive_->add_to_index(place);
  }

  const std::string& from_;
  const PackOptions& options_;
  PackProgress& progress_;
  TreeList list_;
  std::string prefix_;

  std::mutex mutex_;  // the queues
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Batch>> in_order_, to_read_;
  bool listed_ = false, over_ = false;

  // the writer's
  int directory_ = -1;
  std::string name_, archive_name_, sample_;
  unsigned shards_ = 0;
  std::unique_ptr<TarArchive> archive_;
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, std::string> first_of_;  // files with several names
};

}  // namespace

Status pack_tar(const std::string& from, const std::string& to, const PackOptions& options,
                PackProgress& progress) {
  std::string path = to;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const size_t slash = path.rfind('/');
  const std::string above = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  const std::string made = "." + name.substr(0, 230) + ".minke-partial";
  const os::UniqueFd parent(::open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return failure_from_errno(above, errno);
  Packer packer(from, options, progress);
  if (!packer.is_open()) return failure(from + ": it is no directory that can be read", ENOTDIR);
  os::UniqueFd shards;
  const bool in_shards = options.shard_bytes != 0;
  struct stat there {};
  const bool exists = ::fstatat(parent.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && (in_shards || !S_ISREG(there.st_mode)))
    return failure(to + (in_shards ? ": it is there already" : ": it is there, and no file"), EEXIST);
  if (in_shards) {
    Failures ignored;
    (void)remove_tree(parent.get(), made, ignored);
    if (::mkdirat(parent.get(), made.c_str(), 0777) != 0) return failure_from_errno(to, errno);
    shards.reset(::openat(parent.get(), made.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!shards) return failure_from_errno(to, errno);
  }
  Status packed = packer.run(in_shards ? shards.get() : parent.get(), made);
  if (packed && progress.failures.count() > 0) packed = failure(to + ": not everything could be packed", EIO);
  if (packed && in_shards && ::fsync(shards.get()) != 0) packed = failure_from_errno(to, errno);
  if (packed && ::renameat(parent.get(), made.c_str(), parent.get(), name.c_str()) != 0)
    packed = failure_from_errno(to, errno);
  if (packed && ::fsync(parent.get()) != 0) packed = failure_from_errno(to, errno);
  if (!packed) {
    Failures ignored;
    (void)remove_tree(parent.get(), made, ignored);
  }
  return packed;
}

}  // namespace minke::storage
