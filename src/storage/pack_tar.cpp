#include "storage/pack_tar.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include "os/fd.h"
#include "storage/beside.h"
#include "storage/pack_items.h"
#include "storage/pack_resume.h"
#include "storage/remove_tree.h"
#include "storage/tar_archive.h"
#include "storage/tar_format.h"
#include "storage/tar_index.h"
#include "storage/tree_walk.h"

namespace minke::storage {

namespace {

constexpr size_t kBatch = 16;  // entries that are passed on together
constexpr size_t kBatchesAhead = 64;
constexpr uint64_t kNotedBytes = 32 << 20;  // from one note of the progress to the next

struct Batch {
  std::vector<PackItem> items;
  ContentMemory memory;  // of the items
  bool read = false;
};

class Packer {
 public:
  Packer(const std::string& from, const PackOptions& options, PackProgress& progress)
      : from_(from),
        options_(options),
        progress_(progress),
        reader_(from, progress.failures),
        list_(from, progress.failures) {
    std::string name = from;
    while (name.size() > 1 && name.back() == '/') name.pop_back();
    prefix_ = name.substr(name.rfind('/') + 1);
  }

  bool is_open() const { return list_.is_open(); }

  // Writes into `directory`, which is at `path`: an archive of this name, or shards. `index` is a file for
  // the unfinished index.
  Status run(int directory, const std::string& path, const std::string& name, int index, PackNotes& notes) {
    directory_ = directory;
    path_ = path;
    name_ = name;
    index_ = index;
    notes_ = &notes;
    if (Status ready = go_on(); !ready) return ready;
    std::vector<std::thread> threads;
    threads.emplace_back([this] { list(); });
    const unsigned readers = options_.threads != 0 ? options_.threads : kReadingThreads;
    threads.emplace_back([this] { read(); });
    for (unsigned i = 1; i < readers; ++i) {
      try {
        threads.emplace_back([this] { read(); });
      } catch (const std::system_error&) {
        break;  // fewer threads will do
      }
    }
    Status written = write();
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    taken_.notify_all();
    listed_more_.notify_all();
    for (std::thread& thread : threads) thread.join();
    if (!written) return written;
    return {};
  }

 private:
  bool stopped() const { return options_.stop != nullptr && *options_.stop; }

  std::shared_ptr<Batch> new_batch() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return std::make_shared<Batch>();
    std::shared_ptr<Batch> batch = std::move(spare_.back());
    spare_.pop_back();
    return batch;
  }

  // ---- the list, in order, in batches
  void list() {
    bool skipping = goes_on_;  // over what is in the archive already
    for (bool more = true; more;) {
      std::shared_ptr<Batch> batch = new_batch();
      ListedEntry entry;
      while (batch->items.size() < kBatch && (more = list_.next(entry)) && !stopped()) {
        if (skipping) {
          skipping = entry.path != goes_on_behind_;
        } else {
          batch->items.emplace_back().entry = std::move(entry);
        }
      }
      more = more && !stopped();
      if (!more && skipping) lost_ = true;
      std::unique_lock lock(mutex_);
      taken_.wait(lock, [&] { return over_ || in_order_.size() < kBatchesAhead; });
      if (over_) return;
      in_order_.push_back(batch);
      to_read_.push_back(std::move(batch));
      listed_ = !more;
      if (more) {
        listed_more_.notify_one();
      } else {
        listed_more_.notify_all();
      }
    }
  }

  // ---- reading, by several threads
  void read() {
    for (;;) {
      std::shared_ptr<Batch> batch;
      {
        std::unique_lock lock(mutex_);
        listed_more_.wait(lock, [&] { return over_ || listed_ || !to_read_.empty(); });
        if (over_ || to_read_.empty()) return;
        batch = std::move(to_read_.front());
        to_read_.pop_front();
      }
      for (PackItem& item : batch->items) reader_.read(item, batch->memory);
      const std::lock_guard lock(mutex_);
      batch->read = true;
      if (in_order_.front() == batch) next_is_read_.notify_one();
    }
  }

  // ---- writing, in order
  Status write() {
    for (;;) {
      std::shared_ptr<Batch> batch;
      {
        std::unique_lock lock(mutex_);
        next_is_read_.wait(lock, [&] {
          return (in_order_.empty() && listed_) || (!in_order_.empty() && in_order_.front()->read);
        });
        if (in_order_.empty()) break;
        batch = std::move(in_order_.front());
        in_order_.pop_front();
        taken_.notify_one();
      }
      if (stopped()) return failure("stopped", ECANCELED);
      for (PackItem& item : batch->items) {
        if (item.ready)
          if (Status put = write(item); !put) return put;
        noted_.sum = add_to_sum(noted_.sum, item.entry.path, item.status);
        noted_.last = item.entry.path;
        if (archive_ && archive_->size() - noted_.place.size >= kNotedBytes)
          if (Status noted = note(); !noted) return noted;
      }
      batch->items.clear();
      batch->memory.reset();
      batch->read = false;
      const std::lock_guard lock(mutex_);
      spare_.push_back(std::move(batch));
    }
    if (stopped()) return failure("stopped", ECANCELED);
    if (lost_) return failure(from_ + ": it changed while it was read", EIO);
    if (!archive_)
      if (Status begun = next_archive(); !begun) return begun;
    return end_archive();
  }

  static std::string sample_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    const size_t dot = path.find('.', slash == std::string::npos ? 0 : slash + 1);
    return path.substr(0, dot);
  }

  // Continues what a killed pack has left, if that is still of use.
  Status go_on() {
    const auto noted = notes_->read();
    if (!noted || !is_as_it_was(from_, prefix_, *noted, first_of_)) return begin_anew();
    noted_ = *noted;
    if (options_.shard_bytes != 0) first_of_.clear();
    archive_name_ = options_.shard_bytes == 0 ? name_ : shard_name(noted_.shard - 1);
    TarArchive::Options options{.compress = options_.compress,
                                .expected = options_.shard_bytes,
                                .from = noted_.place,
                                .verified = &progress_.verified};
    if (noted_.place.size == 0) options.from.reset();  // a shard that may not have been begun
    auto made = TarArchive::create(directory_, path_, archive_name_, index_, options);
    if (!made) return begin_anew();
    archive_ = std::make_unique<TarArchive>(std::move(*made));
    sample_ = sample_of(noted_.last);
    shards_ = noted_.shard;
    progress_.files = noted_.files;
    progress_.bytes = noted_.bytes;
    goes_on_ = archive_goes_on_ = true;
    goes_on_behind_ = noted_.last;
    return {};
  }
  // Also removes shards that are not made again.
  Status begin_anew() {
    notes_->clear();
    noted_ = {};
    first_of_.clear();
    if (options_.shard_bytes != 0)
      for (unsigned number = 0; ::unlinkat(directory_, shard_name(number).c_str(), 0) == 0;) ++number;
    return {};
  }
  Status note() {
    const auto place = archive_->checkpoint();
    if (!place) return failure(place.error());
    note_at(*place);
    return {};
  }
  void note_at(const TarArchive::Place& place) {
    noted_.place = place;
    noted_.files = progress_.files;
    noted_.bytes = progress_.bytes;
    noted_.shard = shards_;
    if (progress_.failures.count() == 0) {
      notes_->write(noted_);
    } else {
      notes_->clear();
    }
  }

  Status next_archive() {
    const bool in_shards = options_.shard_bytes != 0;
    const std::string name = in_shards ? shard_name(shards_) : name_;
    ++shards_;
    noted_.place = {};
    // Before this shard's index replaces that of the complete one.
    if (shards_ > 1) note_at({});
    auto made = TarArchive::create(directory_, path_, name, index_,
                                   {.compress = options_.compress,
                                    .expected = in_shards ? options_.shard_bytes : options_.expected_bytes,
                                    .from = {},
                                    .verified = &progress_.verified});
    if (!made) return failure(made.error());
    archive_ = std::make_unique<TarArchive>(std::move(*made));
    archive_name_ = name;
    archive_goes_on_ = false;
    first_of_.clear();
    return {};
  }
  static std::string shard_name(unsigned number) {
    char text[32];
    std::snprintf(text, sizeof text, "%06u.tar", number);
    return text;
  }
  Status end_archive() {
    if (Status done = archive_->finish(); !done || !archive_goes_on_) return done;
    // Verifies what another process has written.
    return verify_archive(archive_->fd(), archive_name_, progress_.verified, options_.stop);
  }

  Status write(PackItem& item) {
    TarMember& member = item.member;
    const bool in_shards = options_.shard_bytes != 0;
    if (in_shards && member.type == '5') return {};
    if (Status ready = open_archive_for(member); !ready) return ready;
    if (!in_shards) {
      member.name = member.name.empty() ? prefix_ : prefix_ + "/" + member.name;
      link_to_first_name(item);
    }
    if (Status put = archive_->write(tar_header(member)); !put) return put;
    ++progress_.files;
    if (member.type != '0') return {};
    const IndexEntry place{archive_->size(), member.size, item.crc, member.name};
    if (item.file) return write_large(item, place);
    if (Status put = archive_->write({item.content, member.size}); !put) return put;
    progress_.bytes += member.size;
    if (Status put = archive_->write(std::string(tar_padding(member.size), '\0')); !put) return put;
    return archive_->add_to_index(place);
  }

  // Opens the first archive, or another shard if this one is full: a sample stays in one shard.
  Status open_archive_for(const TarMember& member) {
    const bool in_shards = options_.shard_bytes != 0;
    const std::string sample = in_shards ? sample_of(member.name) : "";
    const bool full = archive_ && in_shards && archive_->size() >= options_.shard_bytes && sample != sample_;
    if (full)
      if (Status ended = end_archive(); !ended) return ended;
    if (full || !archive_)
      if (Status begun = next_archive(); !begun) return begun;
    sample_ = sample;
    return {};
  }

  // A file of several names has its content under the first one.
  void link_to_first_name(PackItem& item) {
    TarMember& member = item.member;
    if (member.type != '0' || item.status.stx_nlink <= 1) return;
    const auto [first, fresh] = first_of_.try_emplace(
        {item.status.stx_dev_major, item.status.stx_dev_minor, item.status.stx_ino}, member.name);
    if (fresh) return;
    member.type = '1';
    member.target = first->second;
  }

  // The header has the size, so exactly that many bytes must follow, whatever happens.
  Status write_large(PackItem& item, IndexEntry place) {
    std::string piece(1 << 20, '\0');
    place.crc = 0;
    for (uint64_t at = 0; at < place.size;) {
      const size_t wanted = std::min<uint64_t>(piece.size(), place.size - at);
      ssize_t got = ::pread(item.file.get(), piece.data(), wanted, static_cast<off_t>(at));
      if (got < 0) {
        reader_.fail(item, errno);
        return failure(reader_.shown(item) + ": not readable", EIO);
      }
      if (got == 0) break;
      place.crc = tar_crc(place.crc, piece.data(), static_cast<size_t>(got));
      if (Status put = archive_->write({piece.data(), static_cast<size_t>(got)}); !put) return put;
      progress_.bytes += got;
      at += got;
      if (stopped()) return failure("stopped", ECANCELED);
    }
    if (!reader_.unchanged(item)) return failure(reader_.shown(item) + ": it changed", EIO);
    if (Status put = archive_->write(std::string(tar_padding(place.size), '\0')); !put) return put;
    return archive_->add_to_index(place);
  }

  const std::string& from_;
  const PackOptions& options_;
  PackProgress& progress_;
  ItemReader reader_;
  TreeList list_;
  std::string prefix_;

  std::mutex mutex_;                      // guards the queues
  std::condition_variable listed_more_;   // for the readers
  std::condition_variable next_is_read_;  // for the writer
  std::condition_variable taken_;         // for the list
  std::deque<std::shared_ptr<Batch>> in_order_, to_read_;
  std::vector<std::shared_ptr<Batch>> spare_;  // memory is used again
  bool listed_ = false, over_ = false;

  // the writer's
  int directory_ = -1, index_ = -1;
  std::string path_, name_, archive_name_, sample_;
  unsigned shards_ = 0;
  PackNotes* notes_ = nullptr;
  PackCheckpoint noted_;  // the last note; its sum is that of all entries so far
  bool goes_on_ = false, archive_goes_on_ = false;
  std::string goes_on_behind_;     // the entry
  std::atomic<bool> lost_{false};  // that entry does not exist any more
  std::unique_ptr<TarArchive> archive_;
  FirstNames first_of_;
};

// Where an archive, or a directory of shards, grows beside its place.
struct Growing {
  const std::string& to;
  const Beside& place;
  bool in_shards;
  int parent = place.parent.get();
  std::string index_name = place.partial + "-index", notes_name = place.partial + "-notes";

  // Only an archive may be replaced by an archive.
  Status check_place() const {
    struct stat there {};
    const bool exists = ::fstatat(parent, place.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
    if (!exists || (!in_shards && S_ISREG(there.st_mode))) return {};
    return failure(to + (in_shards ? ": it is there already" : ": it is there, and no file"), EEXIST);
  }

  os::UniqueFd open_file(const std::string& name) const {
    return os::UniqueFd(::openat(parent, name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  }

  // Opens the unfinished index; its lock keeps other packs away.
  Result<os::UniqueFd> lock_index() const {
    os::UniqueFd index = open_file(index_name);
    if (!index) return failure_from_errno(to, errno);
    if (::flock(index.get(), LOCK_EX | LOCK_NB) != 0)
      return failure(to + ": another pack is being made there", EWOULDBLOCK);
    return index;
  }

  Result<os::UniqueFd> make_shards(bool goes_on) const {
    if (!goes_on) remove_content();
    const std::string& made = place.partial;
    if (::mkdirat(parent, made.c_str(), 0777) != 0 && errno != EEXIST) return failure_from_errno(to, errno);
    os::UniqueFd shards(::openat(parent, made.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!shards) return failure_from_errno(to, errno);
    return shards;
  }

  // Gives what is complete its name, durably. `shards` is empty for a single archive.
  Status take_name(const os::UniqueFd& shards) const {
    if (shards && ::fsync(shards.get()) != 0) return failure_from_errno(to, errno);
    if (::renameat(parent, place.partial.c_str(), parent, place.name.c_str()) != 0 || ::fsync(parent) != 0)
      return failure_from_errno(to, errno);
    return {};
  }

  void remove_content() const {
    Failures ignored;
    (void)remove_tree(parent, place.partial, ignored);
  }
  void remove_notes() const {
    (void)::unlinkat(parent, notes_name.c_str(), 0);
    (void)::unlinkat(parent, index_name.c_str(), 0);
  }
};

}  // namespace

Status pack_tar(const std::string& from, const std::string& to, const PackOptions& options,
                PackProgress& progress) {
  const auto place = beside(to);
  if (!place) return failure(place.error());
  Packer packer(from, options, progress);
  struct stat source {};
  if (!packer.is_open() || ::stat(from.c_str(), &source) != 0)
    return failure(from + ": it is no directory that can be read", ENOTDIR);
  const Growing growing{.to = to, .place = *place, .in_shards = options.shard_bytes != 0};
  if (Status good = growing.check_place(); !good) return good;
  const auto index = growing.lock_index();
  if (!index) return failure(index.error());
  PackNotes notes(growing.open_file(growing.notes_name),
                  std::to_string(source.st_dev) + ":" + std::to_string(source.st_ino) + " " +
                      std::to_string(options.shard_bytes) + (options.compress ? " zstd" : " tar"));
  os::UniqueFd shards;
  if (growing.in_shards) {
    auto made = growing.make_shards(notes.read().has_value());
    if (!made) return failure(made.error());
    shards = std::move(*made);
  }
  const std::string &above = place->directory, &made = place->partial;
  Status packed = shards ? packer.run(shards.get(), above + "/" + made, "", index->get(), notes)
                         : packer.run(growing.parent, above, made, index->get(), notes);
  if (packed && progress.failures.count() > 0) packed = failure(to + ": not everything could be packed", EIO);
  if (packed) packed = growing.take_name(shards);
  // The next pack continues a stopped one.
  if (!packed && packed.error().code == ECANCELED) return packed;
  if (!packed) growing.remove_content();
  growing.remove_notes();
  return packed;
}

}  // namespace minke::storage
