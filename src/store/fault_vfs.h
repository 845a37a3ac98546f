// A file layer for SQLite whose disk can lose power, fill up or fail. For tests only.
//
// A shim over the ordinary file layer: reads, locks and shared memory are the real ones, in a directory of
// the test. Beside each file it keeps what a disk would certainly hold (`durable`: as of the file's last
// sync) and what was written since (`unsynced`). Syncs reach this image only, never the real disk.
//
// Changes (writes, truncations, syncs, deletions) are counted; faults are set by that count. After a power
// cut every change fails, as for a dead program; restore() then writes to another directory what the machine
// might find when it comes back.
//
// Thread-safe, because a store's threads share it.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace minke::store::testing {

class FaultDisk {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  enum class Survivors { kNone, kRandomSectors, kFirstWrites };  // of what was not synced

  explicit FaultDisk(uint32_t seed) : random_(seed), name_("fault-" + std::to_string(seed)) {
    real_ = sqlite3_vfs_find(nullptr);
    vfs_ = *real_;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.zName = name_.c_str();
    vfs_.pAppData = this;
    vfs_.xOpen = open;
    vfs_.xDelete = remove;
    MINKE_CHECK(sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK);
  }
  ~FaultDisk() { sqlite3_vfs_unregister(&vfs_); }
  FaultDisk(const FaultDisk&) = delete;
  FaultDisk& operator=(const FaultDisk&) = delete;

  const std::string& name() const { return name_; }
  int64_t changes() const {
    std::lock_guard lock(mutex_);
    return changes_;
  }

  // Each takes the number of the change at which it begins, counted from 1 since the start.
  void cut_power_at(int64_t change) {
    std::lock_guard lock(mutex_);
    power_cut_at_ = change;
  }
  void be_full_between(int64_t from, int64_t until) {  // [from, until)
    std::lock_guard lock(mutex_);
    full_from_ = from;
    full_until_ = until;
  }
  void fail_one_sync_from(int64_t change) {
    std::lock_guard lock(mutex_);
    sync_fails_from_ = change;
  }
  bool power_is_cut() const {
    std::lock_guard lock(mutex_);
    return changes_ >= power_cut_at_;
  }

  // Writes what is on the disk after the power came back to `directory`, under the files' own names.
  void restore(const std::string& directory, Survivors survivors) {
    std::lock_guard lock(mutex_);
    for (auto& [path, image] : images_) {
      if (path.ends_with("-shm")) continue;
      if (image.unlinked && below(2) == 0) continue;
      std::string bytes = image.durable;
      bool exists = image.exists;
      size_t keep = survivors == Survivors::kFirstWrites ? below(image.unsynced.size() + 1) : 0;
      for (const Change& change : image.unsynced) {
        if (survivors == Survivors::kNone) break;
        if (survivors == Survivors::kFirstWrites && keep-- == 0) {
          exists |= apply_some_sectors(change, bytes);
          break;
        }
        if (survivors == Survivors::kFirstWrites) {
          apply(change, bytes);
          exists = true;
        } else {
          exists |= apply_some_sectors(change, bytes);
        }
      }
      if (!exists) continue;
      std::ofstream(directory + path.substr(path.rfind('/')), std::ios::binary) << bytes;
    }
  }

 private:
  static constexpr size_t kSector = 512;

  struct Change {  // a write at `offset`, or a truncation to `offset`
    bool truncates = false;
    size_t offset = 0;
    std::string bytes;
  };
  struct Image {
    bool exists = false;
    bool unlinked = false;  // deleted, but the directory was not synced: it may come back
    std::string durable;
    std::vector<Change> unsynced;
  };
  struct File {  // the real file's object follows it in memory
    sqlite3_file base;
    FaultDisk* disk;
    Image* image;
    bool syncs_directory;  // with its first sync, as SQLite's own file layer does for its logs
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };
  static File* self(sqlite3_file* file) { return reinterpret_cast<File*>(file); }

  size_t below(size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(random_); }

  static void apply(const Change& change, std::string& bytes) {
    if (change.truncates) {
      bytes.resize(change.offset);
      return;
    }
    if (bytes.size() < change.offset + change.bytes.size()) bytes.resize(change.offset + change.bytes.size());
    bytes.replace(change.offset, change.bytes.size(), change.bytes);
  }
  // Returns whether any of it was applied.
  bool apply_some_sectors(const Change& change, std::string& bytes) {
    if (change.truncates) {
      if (below(2) == 0) return false;
      apply(change, bytes);
      return true;
    }
    bool any = false;
    for (size_t begin = 0; begin < change.bytes.size();) {
      const size_t length =
          std::min(kSector - (change.offset + begin) % kSector, change.bytes.size() - begin);
      if (below(2) == 0) {
        apply({false, change.offset + begin, change.bytes.substr(begin, length)}, bytes);
        any = true;
      }
      begin += length;
    }
    return any;
  }

  // Counts a change; returns the error that it meets, or SQLITE_OK.
  int meet(int power_error, bool writes, bool syncs) {
    if (++changes_ >= power_cut_at_) return power_error;
    if (writes && changes_ >= full_from_ && changes_ < full_until_) return SQLITE_FULL;
    if (syncs && changes_ >= sync_fails_from_) {
      sync_fails_from_ = kNever;
      return SQLITE_IOERR_FSYNC;
    }
    return SQLITE_OK;
  }

  void sync_directory() {
    for (auto& [path, image] : images_) {
      if (image.unlinked) image = {};
    }
  }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
    auto* disk = static_cast<FaultDisk*>(vfs->pAppData);
    std::lock_guard lock(disk->mutex_);
    self(file)->base.pMethods = nullptr;
    const int code = disk->real_->xOpen(disk->real_, path, self(file)->real(), flags, out_flags);
    if (code != SQLITE_OK) return code;
    self(file)->base.pMethods = &kMethods;
    self(file)->disk = disk;
    Image& image = disk->images_[path == nullptr ? "temporary" : path];
    if (image.unlinked) image = {};
    self(file)->image = &image;
    self(file)->syncs_directory = (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
    return SQLITE_OK;
  }

  static int remove(sqlite3_vfs* vfs, const char* path, int and_sync) {
    auto* disk = static_cast<FaultDisk*>(vfs->pAppData);
    std::lock_guard lock(disk->mutex_);
    if (int code = disk->meet(SQLITE_IOERR_DELETE, false, false); code != SQLITE_OK) return code;
    const int code = disk->real_->xDelete(disk->real_, path, 0);
    if (code == SQLITE_OK) disk->images_[path].unlinked = true;
    if (code == SQLITE_OK && and_sync != 0) disk->sync_directory();
    return code;
  }

  static int close(sqlite3_file* file) { return self(file)->real()->pMethods->xClose(self(file)->real()); }

  static int read(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
    return self(file)->real()->pMethods->xRead(self(file)->real(), bytes, size, offset);
  }

  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    FaultDisk& disk = *self(file)->disk;
    std::lock_guard lock(disk.mutex_);
    const int code = disk.meet(SQLITE_IOERR_WRITE, true, false);
    Change change{false, static_cast<size_t>(offset),
                  std::string(static_cast<const char*>(bytes), static_cast<size_t>(size))};
    // The write at the moment of the power cut is on its way to the disk.
    if (code == SQLITE_OK || disk.changes_ == disk.power_cut_at_) {
      self(file)->image->unsynced.push_back(std::move(change));
    }
    if (code != SQLITE_OK) return code;
    return self(file)->real()->pMethods->xWrite(self(file)->real(), bytes, size, offset);
  }

  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    FaultDisk& disk = *self(file)->disk;
    std::lock_guard lock(disk.mutex_);
    if (int code = disk.meet(SQLITE_IOERR_TRUNCATE, false, false); code != SQLITE_OK) return code;
    self(file)->image->unsynced.push_back({true, static_cast<size_t>(size), ""});
    return self(file)->real()->pMethods->xTruncate(self(file)->real(), size);
  }

  static int sync(sqlite3_file* file, int) {
    FaultDisk& disk = *self(file)->disk;
    std::lock_guard lock(disk.mutex_);
    if (int code = disk.meet(SQLITE_IOERR_FSYNC, false, true); code != SQLITE_OK) return code;
    Image& image = *self(file)->image;
    for (const Change& change : image.unsynced) apply(change, image.durable);
    image.unsynced.clear();
    image.exists = true;
    if (std::exchange(self(file)->syncs_directory, false)) disk.sync_directory();
    return SQLITE_OK;
  }

  template <auto Method, typename... Arguments>
  static auto forward(sqlite3_file* file, Arguments... arguments) {
    return (self(file)->real()->pMethods->*Method)(self(file)->real(), arguments...);
  }
  static int size(sqlite3_file* file, sqlite3_int64* out) {
    return forward<&sqlite3_io_methods::xFileSize>(file, out);
  }
  static int lock_file(sqlite3_file* file, int level) {
    return forward<&sqlite3_io_methods::xLock>(file, level);
  }
  static int unlock_file(sqlite3_file* file, int level) {
    return forward<&sqlite3_io_methods::xUnlock>(file, level);
  }
  static int is_reserved(sqlite3_file* file, int* out) {
    return forward<&sqlite3_io_methods::xCheckReservedLock>(file, out);
  }
  static int control(sqlite3_file* file, int operation, void* argument) {
    return forward<&sqlite3_io_methods::xFileControl>(file, operation, argument);
  }
  static int sector_size(sqlite3_file* file) { return forward<&sqlite3_io_methods::xSectorSize>(file); }
  static int characteristics(sqlite3_file* file) {
    return forward<&sqlite3_io_methods::xDeviceCharacteristics>(file);
  }
  static int shm_map(sqlite3_file* file, int page, int page_size, int extend, void volatile** out) {
    return forward<&sqlite3_io_methods::xShmMap>(file, page, page_size, extend, out);
  }
  static int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
    return forward<&sqlite3_io_methods::xShmLock>(file, offset, count, flags);
  }
  static void shm_barrier(sqlite3_file* file) { forward<&sqlite3_io_methods::xShmBarrier>(file); }
  static int shm_unmap(sqlite3_file* file, int remove_it) {
    return forward<&sqlite3_io_methods::xShmUnmap>(file, remove_it);
  }

  // Version 2: without memory maps of the database, so that all reads and writes pass through here.
  static constexpr sqlite3_io_methods kMethods = {
      2,           close,       read,    write,       truncate,        sync,    size,     lock_file,
      unlock_file, is_reserved, control, sector_size, characteristics, shm_map, shm_lock, shm_barrier,
      shm_unmap,   nullptr,     nullptr};

  mutable std::mutex mutex_;
  std::mt19937 random_;
  std::string name_;
  sqlite3_vfs* real_;
  sqlite3_vfs vfs_;
  std::map<std::string, Image> images_;  // by path; the entries never move
  int64_t changes_ = 0;
  int64_t power_cut_at_ = kNever;
  int64_t full_from_ = kNever;
  int64_t full_until_ = kNever;
  int64_t sync_fails_from_ = kNever;
};

}  // namespace minke::store::testing
